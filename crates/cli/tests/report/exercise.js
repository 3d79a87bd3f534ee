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

// A mouse over the first chart, at a third and at two thirds.
mouse(over(figures[0]), "mouseenter", ...at(figures[0], 0.3));
found.moves = [];
for (const share of [0.3, 0.6]) {
  mouse(over(figures[0]), "mousemove", ...at(figures[0], share));
  await pause();
  found.moves.push(figures.map((figure) => ({ cursor: cursor(figure), values: values(figure) })));
}

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
