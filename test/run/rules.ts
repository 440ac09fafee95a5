/** What a test file must hold before it is run, seen in its syntax tree, so that text inside strings does not matter. */
import ts from "typescript";

/** How the title of a skipped test begins. */
export const SKIPPED = "skipped: ";
/** The same for what no CI machine can be made to have, such as GPUs or a vendor's tools: then it may be skipped there. */
export const OPTIONAL = "skipped (optional): ";

export interface Rules {
  /** The first rule that is broken, or null. */
  readonly problem: string | null;
  readonly limitS: number;
  /** Reasons in the titles of tests declared as skipped; those made at run time are shown as written. */
  readonly skipReasons: readonly string[];
  /** How many of them may be skipped everywhere. */
  readonly optionalSkips: number;
}

const DEFAULT_LIMIT_S = 120;

/** Every suite is a constant made by `suite(…)` and ends in `.run()`; no `.only`; a skipped test says why. */
export function readRules(source: string): Rules {
  const file = ts.createSourceFile("test.ts", source, ts.ScriptTarget.Latest, true);
  const suites: string[] = [];
  const ran = new Set<string>();
  const skipReasons: string[] = [];
  const problems: string[] = [];
  let limitS = DEFAULT_LIMIT_S;
  let optionalSkips = 0;

  const visitCall = (call: ts.CallExpression) => {
    if (!ts.isPropertyAccessExpression(call.expression)) return;
    const owner = call.expression.expression.getText(file);
    const method = call.expression.name.text;
    if (method === "run") ran.add(owner);
    if (method === "only" && suites.includes(owner)) problems.push(`suite ${owner} has a left-over .only`);
    if (method === "skip" && suites.includes(owner)) {
      const title = call.arguments[0]?.getText(file).slice(1, -1) ?? "";
      const lead = [SKIPPED, OPTIONAL].find((words) => title.startsWith(words));
      if (lead === OPTIONAL) optionalSkips++;
      if (lead) skipReasons.push(title.slice(lead.length));
      else problems.push(`a skipped test has no reason: its title begins with "${SKIPPED}"`);
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer) {
      const { initializer } = node;
      if (ts.isCallExpression(initializer) && initializer.expression.getText(file) === "suite")
        suites.push(node.name.getText(file));
      if (node.name.getText(file) === "TIME_LIMIT_S") limitS = Number(initializer.getText(file));
    }
    if (ts.isCallExpression(node)) visitCall(node);
    ts.forEachChild(node, visit);
  };
  visit(file);

  if (suites.length === 0) problems.push("it declares no suite: const NAME = suite(…)");
  for (const name of suites) if (!ran.has(name)) problems.push(`suite ${name} is never run`);
  if (!(limitS > 0)) problems.push("TIME_LIMIT_S is not a number");
  return { problem: problems[0] ?? null, limitS, skipReasons, optionalSkips };
}
