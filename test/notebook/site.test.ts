import { suite } from "uvu";
import * as assert from "uvu/assert";
import { readCourse, readNotebook, renderSite, SITE_PLOTLY } from "../../kernel/notebook/index.js";
import { sample } from "./sample.js";

const site = suite("site");

site("the plan has thirty chapters in four stages, and each notebook bears the title that it gives", () => {
  const { stages } = readCourse();
  const chapters = stages.flatMap((stage) => stage.chapters);
  assert.is(stages.length, 4);
  assert.equal(
    chapters.map((chapter) => Number(chapter.number)),
    Array.from({ length: 30 }, (_, at) => at + 1),
  );
  const there = chapters.filter((chapter) => chapter.file !== null);
  assert.ok(there.length >= 1);
  for (const { number, title, file } of there) {
    assert.is(readNotebook(file as string).cells[0]?.source.split("\n")[0], `# ${number} ${title}`);
  }
});

site("the index names every chapter and leads to those that are there; pages lead on and back", () => {
  const course = readCourse();
  const chapters = ["01", "04", "30"].map((number) => ({
    number,
    file: `/anywhere/${number}-x y.ipynb`,
    notebook: sample(),
  }));
  const pages = renderSite(course, chapters);
  assert.equal([...pages.keys()], ["index.html", "01-x y.html", "04-x y.html", "30-x y.html"]);
  const hrefs = (name: string) =>
    [...(pages.get(name) as string).matchAll(/<a [^>]*href="([^"#]+)"/g)].map((match) => match[1]);
  assert.equal(hrefs("index.html"), ["01-x%20y.html", "04-x%20y.html", "30-x%20y.html"]);
  assert.equal(hrefs("01-x y.html"), ["index.html", "04-x%20y.html"]);
  assert.equal(hrefs("04-x y.html"), ["01-x%20y.html", "index.html", "30-x%20y.html"]);
  assert.equal(hrefs("30-x y.html"), ["04-x%20y.html", "index.html"]);
  assert.is((pages.get("index.html") as string).match(/not written yet/g)?.length, 27);
  assert.match(pages.get("index.html") as string, /计划30章，目前有3章/);
});

site("plotly.js stands beside the pages, in none of them", () => {
  const page = renderSite(readCourse(), [{ number: "01", file: "01-a.ipynb", notebook: sample() }]).get(
    "01-a.html",
  );
  assert.ok((page as string).length < 60_000, `${page?.length} characters`);
  assert.match(page as string, new RegExp(`<script src="${SITE_PLOTLY}"></script>`));
  assert.match(page as string, /default-src 'none'/);
});

site.run();
