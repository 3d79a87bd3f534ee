// Uses a report as a reader does, and tells what came of it.
const figures = [...document.querySelectorAll("figure.chart")];
const cursor = (figure) => figure.querySelector(".u-cursor-x").style.transform;
const values = (figure) => [...figure.querySelectorAll(".u-series .u-value")].map((v) => v.textContent);
const looks = (figure) => ({
  title: figure.querySelector("h3").textContent,
  svg: getComputedStyle(figure.querySelector(":scope > svg")).display,
  plot: getComputedStyle(figure.querySelector(".plot")).display,
});
const over = (figure) => figure.querySelector(".u-over");
const mouse = (target, type, x, y) =>
  target.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: x, clientY: y, movementX: 1 }));
const at = (figure, share) => {
  const { left, top, width, height } = over(figure).getBoundingClientRect();
  return [left + share * width, top + height / 2];
};

const found = { screen: figures.map(looks), requests: performance.getEntriesByType("resource").length };
found.overflow = document.documentElement.scrollWidth - innerWidth;
found.width = innerWidth;

// The first screen: the verdict and what the first key number is of.
const bottom = (element) => element.getBoundingClientRect().bottom;
found.first = {
  verdict: bottom(document.querySelector(".banner")),
  card: bottom(document.querySelector(".cards > div")),
  cards: [...document.querySelectorAll(".cards dt")].map((name) => name.textContent),
};
found.command = document.querySelector("pre").textContent;
found.where = document.querySelector(".where").hidden;

// How much of each chart is covered, not only shaded.
found.ink = figures.map((figure) => {
  const { width, height } = figure.querySelector("canvas");
  const { data } = figure.querySelector("canvas").getContext("2d").getImageData(0, 0, width, height);
  let covered = 0;
  for (let place = 3; place < data.length; place += 4) covered += data[place] > 128;
  return covered / (width * height);
});

// What each figure can be saved as, and what that holds. Blobs keep their text: reading one takes time that this page's
// clock does not know of. So does drawing a PNG, of which one is enough.
const saved = [];
const Plain = Blob;
window.Blob = class extends Plain {
  constructor(parts, options) {
    super(parts, options);
    this.words = parts.join("");
  }
};
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => (saved.push(blob), make.call(URL, blob));
HTMLAnchorElement.prototype.click = function () {
  saved[saved.length - 1].title = this.download;
};
const buttons = [...document.querySelectorAll(".save button")];
const png = buttons.find((button) => button.textContent === "PNG");
found.buttons = buttons.map((button) => button.getAttribute("aria-label"));
for (const button of buttons) if (button === png || button.textContent !== "PNG") button.click();
for (let waited = 0; !saved.some(({ type }) => type === "image/png") && waited < 100; waited++) await pause();
await pause();
found.saved = saved.map(({ title, type, size, words = "" }) => ({ title, type, size, text: words.slice(0, 4000) }));

// A mouse over the first chart, at a third and at two thirds.
mouse(over(figures[0]), "mouseenter", ...at(figures[0], 0.3));
found.moves = [];
for (const share of [0.3, 0.6]) {
  mouse(over(figures[0]), "mousemove", ...at(figures[0], share));
  await pause();
  found.moves.push(figures.map((figure) => ({ cursor: cursor(figure), values: values(figure) })));
}

// The end of a distribution: 100 % is at the top of the chart.
const distribution = figures.find((figure) => figure.querySelector("h3").textContent === "Queueing delay");
mouse(over(distribution), "mouseenter", ...at(distribution, 0.999));
mouse(over(distribution), "mousemove", ...at(distribution, 0.999));
await pause();
found.end = [...distribution.querySelectorAll(".u-cursor-pt")].map(
  (point) => new DOMMatrix(getComputedStyle(point).transform).m42 + point.offsetHeight / 2,
);
mouse(over(distribution), "mouseleave", 0, 0);

// A name in the legend by mouse, then by key, and back again.
const name = figures[0].querySelectorAll(".u-series th")[1];
const state = () => ({
  checked: name.getAttribute("aria-checked"),
  hidden: name.parentElement.classList.contains("u-off"),
});
found.legend = [state()];
name.click();
await pause();
found.legend.push(state());
for (const key of ["Enter", " ", "x"]) {
  name.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  await pause();
  found.legend.push(state());
}

// The cursor by key.
const before = cursor(figures[0]);
over(figures[0]).dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
await pause();
found.key = before !== cursor(figures[0]);

// A closer look, and back. What the axis says is drawn, not written, so the cursor's time is looked at.
const time = () => values(figures[0])[0];
const look = async () => {
  mouse(over(figures[0]), "mousemove", ...at(figures[0], 0.9));
  await pause();
  return time();
};
found.zoom = [await look()];
mouse(over(figures[0]), "mousemove", ...at(figures[0], 0.2));
mouse(over(figures[0]), "mousedown", ...at(figures[0], 0.2));
mouse(over(figures[0]), "mousemove", ...at(figures[0], 0.4));
mouse(document, "mouseup", ...at(figures[0], 0.4));
await pause();
found.zoom.push(await look());
mouse(over(figures[0]), "dblclick", ...at(figures[0], 0.5));
await pause();
found.zoom.push(await look());

// Every number that says what it is.
found.numbers = [...document.querySelectorAll("[data-path]")].map((number) => ({
  path: number.dataset.path,
  value: Number(number.dataset.value),
  text: number.textContent,
}));

// As it is printed: rules for print hold, those for screens do not.
for (const sheet of document.styleSheets) {
  for (const rule of sheet.cssRules) {
    if (!(rule instanceof CSSMediaRule)) continue;
    const media = rule.media.mediaText;
    if (/print/.test(media)) rule.media.mediaText = "all";
    else if (/screen/.test(media)) rule.media.mediaText = "not all";
  }
}
found.print = figures.map(looks);
return found;
