// Draws the page's charts with uPlot: a cursor that all charts over time share, a legend with the values
// under it, lines that come and go by click or key, and a closer look by dragging. Where a curve swings faster than
// pixels can show, its range is an area and its mean a line, as in the SVG (chart/dense.rs).
//
// The data are in the element #charts, in the order of the page's figures. Each figure keeps its SVG, for print,
// for browsers without scripts, and for its description of the chart in words.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("charts").textContent);
  const abscissas = page.x.map((x) => {
    if (Array.isArray(x)) return x;
    let steps = 0; // Whole numbers: nothing is lost in adding them up.
    return x.by.map((by) => (steps += by) / x.per);
  });
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const shown = (value) => String(Number(value.toPrecision(5)));
  const unit = (label) => (/\(([^()]*)\)$/.exec(label) || ["", ""])[1];
  const FONT = '12px system-ui, -apple-system, "Segoe UI", sans-serif';
  const HEIGHT = 270;
  const KEY_STEP = 8; // Pixels that an arrow key moves the cursor by.
  // As in chart/dense.rs, in pixels.
  const SWING = 4;
  const TURNS = 8;
  const WINDOW = 16;
  const STEP = 6;
  const NARROW = 24;
  const charts = []; // { plot, whole: the range of x that all of it takes, view: that in sight, shared: whether over time }

  // Abscissas in the axis's base unit, so that charts in ms and s understand each other.
  const scaled = (place, factor) =>
    factor === 1 ? abscissas[place] : abscissas[place].map((x) => x * factor);

  // One list of abscissas for all series. Where a series has no point of its own it is undefined, which
  // uPlot draws across; null breaks a line.
  const aligned = (series, factor) =>
    series.length ? uPlot.join(series.map((s) => [scaled(s.x, factor), s.y])) : [[]];

  // The point of a series that the cursor means: a step holds until the next, else the nearest one.
  const meant = (series) => (u, index, closest, x) => {
    const { min, max } = u.scales.x;
    if (x < min || x > max) return null; // Another chart's cursor, where this one shows nothing.
    const ys = u.data[index];
    if (index === 0 || ys[closest] !== undefined) return closest;
    const xs = u.data[0];
    let before = xs[closest] > x ? closest - 1 : closest;
    let after = before + 1;
    while (before >= 0 && ys[before] === undefined) before--;
    while (after < xs.length && ys[after] === undefined) after++;
    if (before < 0) return after < xs.length ? after : null;
    if (series[index - 1].shape === "step" || after >= xs.length) return before;
    return x - xs[before] <= xs[after] - x ? before : after;
  };

  // The lines of a logarithmic axis: at powers of ten.
  const decade = (log) => (v) => (!log || Math.abs(Math.log10(v) % 1) < 1e-9 ? v : null);

  const axis = (label, factor, across, log) => ({
    label,
    labelSize: 20,
    labelFont: FONT,
    font: FONT,
    size: across
      ? 34
      : (u, values) => 16 + 7 * Math.max(5, ...(values || []).map((text) => (text || "").length)),
    space: across ? 70 : 36,
    stroke: () => colour("--ink"),
    grid: { stroke: () => colour("--rule"), width: 1, show: !across, filter: (u, splits) => splits.map(decade(log)) },
    ticks: { stroke: () => colour("--rule"), width: 1, size: 4 },
    values: (u, splits) => splits.map((v) => (v == null ? "" : String(+(v / factor).toPrecision(9)))),
  });

  // All of the range that the SVG has, until a reader looks closer: then what is seen.
  // uPlot's own range of x is still the last one here.
  const rangeY = (y, { view, whole }) => (u, least, most) => {
    const [min, max] = view;
    if (y.log || least == null || (min <= whole[0] && max >= whole[1])) return [y.from, y.to];
    if (least > 0 && (least < 0.6 * most || least > 0.98 * most)) least = 0;
    const room = most > least ? 0.05 * (most - least) : 0.5;
    return [least === 0 ? 0 : least - room, most + room];
  };

  // The points of a curve on the canvas; `null` where it is interrupted.
  const pointsOf = (u, index, step, from, to) => {
    const [xs, ys] = [u.data[0], u.data[index]];
    const points = [];
    let held = null;
    for (let place = from; place <= to; place++) {
      if (ys[place] === undefined) continue;
      if (ys[place] === null) {
        points.push((held = null));
        continue;
      }
      const [x, y] = [u.valToPos(xs[place], "x", true), u.valToPos(ys[place], "y", true)];
      if (step && held !== null) points.push([x, held]);
      points.push([x, (held = y)]);
    }
    return points;
  };

  // Where a curve turns back by more than SWING.
  const turnsOf = (points) => {
    const turns = [];
    let [farthest, up] = [null, true];
    for (const point of points) {
      if (point === null || farthest === null) farthest = point;
      else if (point[1] !== farthest[1] && point[1] < farthest[1] === up) farthest = point;
      else if (Math.abs(point[1] - farthest[1]) > SWING * devicePixelRatio) {
        turns.push(farthest[0]);
        [farthest, up] = [point, !up];
      }
    }
    return turns;
  };

  // The first place in a rising list that is not below a value.
  const search = (list, value) => {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      list[middle] < value ? (low = middle + 1) : (high = middle);
    }
    return low;
  };

  const curve = (s, factor) => (u, index, from, to) => {
    const points = pointsOf(u, index, s.shape === "step", from, to);
    const turns = turnsOf(points);
    const [half, width] = [(WINDOW / 2) * devicePixelRatio, STEP * devicePixelRatio];
    const drawn = points.filter((point) => point !== null);
    const isDense = ([x]) => {
      const seen = Math.min(x + half, drawn[drawn.length - 1][0]) - Math.max(x - half, drawn[0][0]);
      return search(turns, x + half) - search(turns, x - half) > (TURNS * seen) / (2 * half);
    };
    const dense = points.map((point) => point !== null && isDense(point));
    for (let first = 0, end; first < dense.length; first = end) {
      for (end = first + 1; end < dense.length && dense[end] === dense[first]; ) end++;
      const narrow = dense[first] && points[end - 1][0] - points[first][0] < NARROW * devicePixelRatio;
      if (narrow) dense.fill(false, first, end);
    }
    const means = s.means && scaled(s.means.x, factor).map((x) => u.valToPos(x, "x", true));
    const [stroke, fill] = [new Path2D(), new Path2D()];
    let [pen, steps] = [false, []];
    const draw = (x, y) => {
      pen ? stroke.lineTo(x, y) : stroke.moveTo(x, y);
      pen = true;
    };
    // Draws the steps of a dense part: their range as an area, their means as a line.
    const close = () => {
      for (const step of steps) {
        const first = means ? search(means, step.number * width) : 0;
        const end = means ? search(means, (step.number + 1) * width) : 0;
        const those =
          first < end ? s.means.y.slice(first, end).map((y) => u.valToPos(y, "y", true)) : step.ys;
        step.x = (step.number + 0.5) * width;
        draw(step.x, those.reduce((sum, y) => sum + y, 0) / those.length);
      }
      steps.forEach(({ x, ys }, place) => fill[place ? "lineTo" : "moveTo"](x, Math.min(...ys)));
      steps.reverse().forEach(({ x, ys }) => fill.lineTo(x, Math.max(...ys)));
      if (steps.length) fill.closePath();
      steps = [];
    };
    points.forEach((point, place) => {
      if (point === null) {
        close();
        pen = false;
      } else if (dense[place]) {
        const number = Math.floor(point[0] / width);
        const last = steps[steps.length - 1];
        last && last.number === number ? last.ys.push(point[1]) : steps.push({ number, ys: [point[1]] });
      } else {
        close();
        draw(...point);
      }
    });
    close();
    return { stroke, fill, clip: null, band: null, gaps: null, flags: 0 };
  };

  // The areas behind lines, such as confidence intervals, with a bar at each point.
  const drawAreas = (series, factor, y) => (u) => {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    series.forEach((s, place) => {
      if (!s.area || !u.series[place + 1].show) return;
      const xs = scaled(s.area.x, factor).map((x) => u.valToPos(x, "x", true));
      const [lows, highs] = [s.area.low, s.area.high].map((ends) =>
        ends.map((end) => u.valToPos(Math.max(end, y.from), "y", true)),
      );
      u.ctx.fillStyle = u.ctx.strokeStyle = colour(`--c${s.colour}`);
      u.ctx.globalAlpha = 0.15;
      u.ctx.beginPath();
      xs.forEach((x, place) => u.ctx.lineTo(x, highs[place]));
      for (let place = xs.length - 1; place >= 0; place--) u.ctx.lineTo(xs[place], lows[place]);
      u.ctx.fill();
      u.ctx.globalAlpha = 1;
      u.ctx.lineWidth = devicePixelRatio;
      u.ctx.beginPath();
      const cap = 3 * devicePixelRatio;
      xs.forEach((x, place) => {
        for (const [from, to] of [
          [[x, lows[place]], [x, highs[place]]],
          [[x - cap, lows[place]], [x + cap, lows[place]]],
          [[x - cap, highs[place]], [x + cap, highs[place]]],
        ]) {
          u.ctx.moveTo(...from);
          u.ctx.lineTo(...to);
        }
      });
      u.ctx.stroke();
    });
    u.ctx.restore();
  };

  // A value with half of its interval, where it has one.
  const value = (s, y) => (u, v, index, place) => {
    if (v == null) return "–";
    const there = s.area && place != null ? abscissas[s.area.x].indexOf(u.data[0][place]) : -1;
    const half = there < 0 ? 0 : (s.area.high[there] - s.area.low[there]) / 2;
    return `${shown(v)}${half > 0 ? ` ± ${String(Number(half.toPrecision(2)))}` : ""} ${unit(y.label)}`;
  };

  const line = (s, y, factor) => ({
    label: s.name || "value",
    stroke: () => colour(`--c${s.colour}`),
    fill: () => `${colour(`--c${s.colour}`)}40`,
    width: 1.5,
    dash: s.dash ? s.dash.split(" ").map((length) => length * devicePixelRatio) : undefined,
    paths: s.shape === "points" ? () => null : curve(s, factor),
    points: {
      show: s.shape === "points" || s.y.length < 2,
      size: 4,
      fill: () => colour(`--c${s.colour}`),
    },
    value: value(s, y),
  });

  // Limits: a dotted line each, with its name on it.
  const drawMarks = (marks) => (u) => {
    const ratio = devicePixelRatio;
    const { left, width, top, height } = u.bbox;
    u.ctx.save();
    u.ctx.font = FONT.replace("12px", `${12 * ratio}px`);
    u.ctx.textAlign = "right";
    u.ctx.lineJoin = "round";
    for (const mark of marks) {
      const y = u.valToPos(mark.y, "y", true);
      if (y < top || y > top + height) continue;
      u.ctx.setLineDash([2 * ratio, 4 * ratio]);
      u.ctx.lineWidth = ratio;
      u.ctx.strokeStyle = u.ctx.fillStyle = colour("--ink");
      u.ctx.beginPath();
      u.ctx.moveTo(left, y);
      u.ctx.lineTo(left + width, y);
      u.ctx.stroke();
      u.ctx.setLineDash([]);
      u.ctx.lineWidth = 3 * ratio;
      u.ctx.strokeStyle = colour("--paper");
      const at = [mark.name, left + width - 4 * ratio, y - 4 * ratio];
      u.ctx.strokeText(...at);
      u.ctx.fillText(...at);
    }
    u.ctx.restore();
  };

  const show = ({ plot, view }, min, max) => {
    [view[0], view[1]] = [min, max];
    plot.setScale("x", { min, max });
  };

  let zooming = false;
  // Every chart over time shows the same stretch, as far as it has it.
  const zoom = (from, min, max) => {
    if (zooming) return;
    zooming = true;
    for (const chart of charts) {
      const { whole, shared } = chart;
      const [low, high] = [Math.max(min, whole[0]), Math.min(max, whole[1])];
      if (chart === from || (shared && from.shared && low < high)) show(chart, low, high);
    }
    zooming = false;
  };
  const unzoom = (from) => {
    zooming = true;
    for (const chart of charts) {
      if (chart === from || (chart.shared && from.shared)) show(chart, ...chart.whole);
    }
    zooming = false;
  };

  // The cursor by keys, so that no user needs a mouse.
  const keys = (chart) => (event) => {
    const { plot } = chart;
    const { clientWidth: width, clientHeight: height } = plot.over;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") unzoom(chart);
    else if (by) {
      const from = plot.cursor.left >= 0 ? plot.cursor.left : width / 2;
      const left = from + by * (event.shiftKey ? 1 : KEY_STEP);
      plot.setCursor({ left: Math.min(Math.max(left, 0), width), top: height / 2 }, true, true);
    } else return;
    event.preventDefault();
  };

  const SVG = "http://www.w3.org/2000/svg";
  // What a line looks like, in front of its name.
  const sample = (s) => {
    const svg = document.createElementNS(SVG, "svg");
    for (const [name, value] of [["width", 26], ["height", 10], ["aria-hidden", "true"]]) {
      svg.setAttribute(name, value);
    }
    const dots = s.shape === "points";
    const mark = svg.appendChild(document.createElementNS(SVG, dots ? "circle" : "path"));
    const looks = dots
      ? { cx: 13, cy: 5, r: 3, style: `fill: var(--c${s.colour})` }
      : { d: "M0 5h26", "stroke-dasharray": s.dash, style: `stroke: var(--c${s.colour})`, "stroke-width": 2.5 };
    for (const [name, value] of Object.entries(looks)) mark.setAttribute(name, value);
    return svg;
  };

  // Names that are switches, for a mouse and for keys.
  const legend = (plot, series) => {
    const names = [...plot.root.querySelectorAll(".u-series th")].slice(1);
    const tell = () =>
      names.forEach((name, place) => name.setAttribute("aria-checked", plot.series[place + 1].show));
    names.forEach((name, place) => {
      name.prepend(sample(series[place]));
      name.tabIndex = 0;
      name.setAttribute("role", "switch");
      name.title = "Click, or press Enter, to hide or show this line; with Ctrl, it alone";
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        name.dispatchEvent(new MouseEvent("click", { bubbles: true, ctrlKey: event.ctrlKey }));
      });
    });
    plot.hooks.setSeries = [...(plot.hooks.setSeries || []), tell];
    tell();
  };

  const draw = (figure, { x, y, series, marks }) => {
    const svg = figure.querySelector("svg");
    const holder = document.createElement("div");
    holder.className = "plot";
    figure.insertBefore(holder, svg);
    const factor = x.seconds || 1;
    const whole = [x.from * factor, x.to * factor];
    const chart = { whole, view: [...whole], shared: x.seconds !== null };
    const options = {
      width: holder.clientWidth,
      height: HEIGHT,
      scales: {
        x: { time: false, auto: false, distr: x.log ? 3 : 1, range: (u, min, max) => [min, max] },
        y: { distr: y.log ? 3 : 1, range: rangeY(y, chart) },
      },
      axes: [axis(x.label, factor, true, x.log), axis(y.label, 1, false, y.log)],
      series: [
        {
          label: x.label.replace(/ *\([^()]*\)$/, ""),
          value: (u, v) => (v == null ? "–" : `${shown(v / factor)} ${unit(x.label)}`),
        },
        ...series.map((s) => line(s, y, factor)),
      ],
      legend: { markers: { show: false } }, // Ours show dashes too.
      cursor: {
        y: false,
        dataIdx: meant(series),
        drag: { x: true, y: false, setScale: false },
        bind: { dblclick: () => () => (unzoom(chart), null) },
        sync: chart.shared
          ? {
              key: "time",
              scales: ["x", null],
              filters: { pub: (type) => type === "mousemove", sub: () => true },
            }
          : undefined,
      },
      hooks: {
        drawAxes: [drawAreas(series, factor, y)],
        draw: [drawMarks(marks)],
        setSelect: [
          (u) => {
            const { left, width } = u.select;
            if (width <= 0) return;
            zoom(chart, u.posToVal(left, "x"), u.posToVal(left + width, "x"));
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    };
    const plot = (chart.plot = new uPlot(options, aligned(series, factor), holder));
    show(chart, ...whole);
    charts.push(chart);
    legend(plot, series);
    plot.over.tabIndex = 0;
    plot.over.setAttribute("role", "img");
    const words = [...svg.querySelectorAll(":scope > title, :scope > desc")];
    plot.over.setAttribute("aria-label", words.map((word) => word.textContent).join(". "));
    plot.over.addEventListener("keydown", keys(chart));
    const touch = ({ touches: [{ clientX }] }) => {
      const left = clientX - plot.over.getBoundingClientRect().left;
      plot.setCursor({ left, top: plot.over.clientHeight / 2 }, true, true);
    };
    plot.over.addEventListener("touchmove", touch, { passive: true });
    const resize = () => {
      const width = holder.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
    };
    new ResizeObserver(resize).observe(holder);
    figure.classList.add("live"); // From now on a screen shows this and not the SVG.
  };

  document.querySelectorAll("figure.chart").forEach((figure, place) => draw(figure, page.charts[place]));
  document.documentElement.classList.add("scripted");
  const redraw = () => charts.forEach(({ plot }) => plot.redraw(false));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
