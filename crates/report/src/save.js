// Saves what a figure shows: as SVG and PNG for papers and slides, and as CSV for other programs. Everything is made in
// the page; nothing is loaded or sent.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SCALE = 3; // Pixels of a PNG for each of the SVG.
  const data = document.getElementById("charts");
  let parsed = null;
  const page = () => (parsed ??= JSON.parse(data.textContent));

  // The picture by itself: with a size, a background, and the colours of a light page.
  const picture = (svg, title) => {
    const copy = svg.cloneNode(true);
    const [left, top, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const above = 24; // Room for the title.
    const set = (element, values) => {
      for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
      return element;
    };
    const make = (name, values) => set(document.createElementNS(SVG, name), values);
    const size = { width, height: height + above };
    set(copy, { ...size, viewBox: `${left} ${top - above} ${width} ${height + above}` });
    const heading = make("text", { x: left + 4, y: top - 8, "font-size": 14, "font-weight": 600 });
    heading.textContent = title;
    const paper = make("rect", { x: left, y: top - above, ...size, fill: "#fff" });
    const words = copy.querySelectorAll(":scope > title, :scope > desc");
    const first = words.length ? words[words.length - 1].nextSibling : copy.firstChild;
    copy.insertBefore(paper, first);
    copy.insertBefore(heading, first);
    return { text: new XMLSerializer().serializeToString(copy), ...size };
  };

  const png = async ({ text, width, height }) => {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [SCALE * width, SCALE * height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  };

  const unit = (label) => (/ \([^()]*\)$/.exec(label) || [""])[0];
  const cell = (value) => {
    const text = value == null ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const csv = (rows) => rows.map((row) => row.map(cell).join(",") + "\n").join("");

  const abscissas = (place) => {
    const x = page().x[place];
    if (Array.isArray(x)) return x;
    let steps = 0;
    return x.by.map((by) => (steps += by) / x.per);
  };

  // A row for each abscissa; a series without a point there has an empty cell.
  const chartRows = ({ x, y, series }) => {
    const head = [x.label];
    const tables = [];
    const column = (name, place, values) => {
      head.push(name);
      tables.push([abscissas(place), values]);
    };
    for (const s of series) {
      const name = s.name ? s.name + unit(y.label) : y.label;
      column(name, s.x, s.y);
      if (s.means) column(`mean of ${name}`, s.means.x, s.means.y);
      if (s.area) {
        column(`low end of ${name}`, s.area.x, s.area.low);
        column(`high end of ${name}`, s.area.x, s.area.high);
      }
    }
    if (!tables.length) return [head];
    const columns = uPlot.join(tables);
    return [head, ...columns[0].map((_, row) => columns.map((column) => column[row]))];
  };

  const heatRows = (svg) => {
    const cells = [...svg.querySelectorAll("[data-row]")];
    return [svg.dataset.head, ...cells.map((cell) => cell.dataset.row)].map((row) => JSON.parse(row));
  };

  const save = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  };

  let charts = 0;
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector(":scope > svg, :scope > .wide > svg");
    if (!svg) continue;
    const place = figure.classList.contains("chart") ? charts++ : null;
    const heading = figure.querySelector("h3") ?? figure.closest("section").querySelector("h2");
    const title = heading.textContent;
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "figure";
    const kinds = {
      SVG: () => new Blob([picture(svg, title).text], { type: "image/svg+xml" }),
      PNG: () => png(picture(svg, title)),
    };
    const rows =
      place !== null ? () => chartRows(page().charts[place]) : svg.dataset.head ? () => heatRows(svg) : null;
    if (rows) kinds.CSV = () => new Blob([csv(rows())], { type: "text/csv" });
    const bar = document.createElement("div");
    bar.className = "save";
    for (const [kind, make] of Object.entries(kinds)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `Save ${title} as ${kind}`);
      button.addEventListener("click", async () => save(`${name}.${kind.toLowerCase()}`, await make()));
      bar.append(button);
    }
    figure.prepend(bar);
  }
})();
