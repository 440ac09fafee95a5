import { suite } from "uvu";
import * as assert from "uvu/assert";
import { P2pError } from "../../kernel/lab/index.js";
import { formatNotebook, parseNotebook } from "../../kernel/notebook/index.js";
import { jsonErrorPosition } from "../../kernel/notebook/json-position.js";
import { withProperIds } from "../../kernel/notebook/nbformat.js";
import { textOfFile } from "../../kernel/notebook/text-file.js";

const format = suite("notebook files");

/** The message with which a text is refused. */
function refusal(text: string): string {
  try {
    parseNotebook(text, "x.ipynb");
  } catch (error) {
    assert.instance(error, P2pError);
    assert.is((error as P2pError).code, "notebook");
    assert.ok((error as P2pError).hint.length > 0);
    return (error as P2pError).message;
  }
  return assert.unreachable("it was read") as never;
}

format("the position is that of the first character which JSON cannot have", () => {
  assert.equal(jsonErrorPosition('{"a": 1,}'), { line: 1, column: 9 });
  assert.equal(jsonErrorPosition('{\n "a": [1, tru]\n}'), { line: 2, column: 11 });
  assert.equal(jsonErrorPosition('{"a": "no end'), { line: 1, column: 7 });
  assert.equal(jsonErrorPosition("[1, 2"), { line: 1, column: 6 });
  assert.equal(jsonErrorPosition("{} {}"), { line: 1, column: 4 });
  assert.equal(jsonErrorPosition(""), { line: 1, column: 1 });
  assert.is(jsonErrorPosition('{"a": [1e5, -0.5, null, "\\u00e9\\n", {}, []], "": true}\n'), null);
});

format("malformed JSON is refused with file, line and column", () => {
  const message = refusal('{\n "cells": [\n  {"cell_type": "code",}\n ]\n}');
  assert.match(message, /^x\.ipynb is not a notebook: line 3, column 24: /);
});

format("brackets without end are refused, not followed until the stack is spent", () => {
  assert.match(refusal("[".repeat(200_000)), /is not a notebook/);
  assert.match(refusal(`{"cells": ${'{"a":'.repeat(50_000)}`), /is not a notebook/);
});

format("what is nested deeper than can be written again is refused, in outputs and in metadata", () => {
  const deep = `${"[".repeat(5000)}${"]".repeat(5000)}`;
  assert.match(
    refusal(`{"nbformat": 4, "cells": [], "metadata": {"x": ${deep}}}`),
    /nested more than 1000 levels deep/,
  );
  const shallow = `${"[".repeat(900)}${"]".repeat(900)}`;
  assert.match(
    formatNotebook(parseNotebook(`{"nbformat": 4, "cells": [], "metadata": {"x": ${shallow}}}`, "x")),
    /"x"/,
  );
});

format("a byte order mark is passed over, and what is no text says what it is", () => {
  const text = '{"nbformat": 4, "cells": [], "metadata": {"title": "汉"}}';
  const utf16 = Buffer.from(`\ufeff${text}`, "utf16le");
  for (const bytes of [Buffer.from(`\ufeff${text}`), utf16, Buffer.from(utf16).swap16()])
    assert.is(textOfFile(bytes), text);
  const refused: [Buffer, RegExp][] = [
    [Buffer.alloc(0), /it is empty/],
    [Buffer.from(" \n"), /it is empty/],
    [Buffer.alloc(50), /it is binary/],
    [utf16.subarray(2), /UTF-16 without|not text in UTF-8/],
    [Buffer.from('{"a": "caf\u00e9"}', "latin1"), /it is not text in UTF-8/],
    [Buffer.from([0x1f, 0x8b, 8, 0]), /gzip/],
    [Buffer.from("PK\u0003\u0004"), /zip/],
  ];
  for (const [bytes, why] of refused) assert.throws(() => textOfFile(bytes), why);
});

format("a truncated file is refused at its end", () => {
  assert.match(refusal('{\n "cells": ['), /line 2, column 12: /);
});

format("wrong shapes are refused with what is wrong where", () => {
  assert.match(refusal("[]"), /its top level is not an object/);
  assert.match(refusal('{"nbformat": 3, "worksheets": []}'), /nbformat is 3, and 4 is what can be read/);
  assert.match(refusal('{"nbformat": 4}'), /it has no list of cells/);
  assert.match(
    refusal('{"nbformat": 4, "cells": [{"cell_type": "code", "source": ""}, 7]}'),
    /cell 1 is not an object/,
  );
  assert.match(
    refusal('{"nbformat": 4, "cells": [{"cell_type": "heading", "source": ""}]}'),
    /cell 0 has cell_type "heading"/,
  );
  assert.match(refusal('{"nbformat": 4, "cells": [{"cell_type": "code"}]}'), /cell 0 has no source text/);
  assert.match(
    refusal(
      '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "", "outputs": [{"output_type": "pyout"}]}]}',
    ),
    /cell 0 has an output of an unknown kind/,
  );
});

format("text may be stored as one string or as lines", () => {
  const cells = '[{"cell_type": "markdown", "source": ["a\\n", "b"]}, {"cell_type": "raw", "source": "c"}]';
  const notebook = parseNotebook(`{"nbformat": 4, "nbformat_minor": 5, "cells": ${cells}}`, "x.ipynb");
  assert.equal(
    notebook.cells.map((cell) => cell.source),
    ["a\nb", "c"],
  );
});

format(
  "the canonical text has sorted keys, one space of indentation, lines, and a newline at the end",
  () => {
    const text = formatNotebook({
      nbformat_minor: 5,
      nbformat: 4,
      metadata: { z: 1, a: 2 },
      cells: [
        {
          source: "one\ntwo",
          outputs: [
            { text: "x\ny\n", output_type: "stream", name: "stdout" },
            {
              output_type: "display_data",
              data: { "text/plain": "p\nq", "image/png": "AAAA" },
              metadata: {},
            },
          ],
          metadata: {},
          id: "c",
          execution_count: 3,
          cell_type: "code",
        },
      ],
    });
    assert.is(
      text,
      `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "c",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "x\\n",
      "y\\n"
     ]
    },
    {
     "data": {
      "image/png": "AAAA",
      "text/plain": [
       "p\\n",
       "q"
      ]
     },
     "metadata": {},
     "output_type": "display_data"
    }
   ],
   "source": [
    "one\\n",
    "two"
   ]
  }
 ],
 "metadata": {
  "a": 2,
  "z": 1
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`,
    );
  },
);

format("writing what was read gives the same notebook, attachments and foreign metadata included", () => {
  const text = formatNotebook({
    cells: [
      {
        cell_type: "markdown",
        id: "m",
        metadata: { tags: ["t"] },
        source: "![x](attachment:x.png)",
        attachments: { "x.png": { "image/png": "AAAA" } },
      },
      {
        cell_type: "code",
        id: "c",
        metadata: {},
        source: "1",
        execution_count: null,
        outputs: [
          {
            output_type: "execute_result",
            data: { "application/json": { b: [1], a: "x\ny" } },
            metadata: {},
            execution_count: null,
          },
        ],
      },
    ],
    metadata: { other: { tool: true } },
    nbformat: 4,
    nbformat_minor: 4,
  });
  assert.is(formatNotebook(parseNotebook(text, "x.ipynb")), text);
});

format(
  "cells get ids of their own from minor version 5 on, and none before; those that are right stay",
  () => {
    const ids = (nbformat_minor: unknown, ...given: unknown[]) => {
      const cells = given.map((id) => ({
        cell_type: "markdown",
        metadata: {},
        source: "",
        ...(id === null ? {} : { id }),
      }));
      const text = JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor });
      const proper = withProperIds(parseNotebook(text, "x.ipynb"));
      return [proper.nbformat_minor, ...proper.cells.map(({ id }) => id)];
    };
    assert.equal(ids(5, null, "a", "a", "a b", "", "cell-1", 7), [
      5,
      "cell-1-",
      "a",
      "cell-3",
      "cell-4",
      "cell-5",
      "cell-1",
      "cell-7",
    ]);
    assert.equal(ids(4, "a", null), [4, undefined, undefined]);
    assert.equal(ids(-1, "x".repeat(65)), [5, "cell-1"]);
  },
);

format("typed arrays in a figure are written as plain ones", () => {
  const cell = {
    cell_type: "code" as const,
    metadata: {},
    source: "",
    outputs: [
      {
        output_type: "display_data" as const,
        data: { "application/vnd.plotly.v1+json": { data: [{ x: new Float64Array([1, 2]) }] } },
        metadata: {},
      },
    ],
  };
  const text = formatNotebook({ cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 });
  assert.match(text.replace(/\s/g, ""), /"x":\[1,2\]/);
});

format.run();
