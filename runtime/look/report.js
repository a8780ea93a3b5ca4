"use strict";
// What stands under the pointer, or under a finger, is written below the curves.
const shown = (v) => {
  if (v === null) return "not finite";
  const a = Math.abs(v);
  if (a !== 0 && (a < 1e-3 || a >= 1e7)) return v.toExponential(3);
  return v.toLocaleString("en", {maximumSignificantDigits: 5});
};
const nearest = (points, step) => {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < step) low = middle + 1; else high = middle;
  }
  if (low > 0 && step - points[low - 1][0] < points[low][0] - step) low -= 1;
  return points[low];
};
for (const chart of document.querySelectorAll(".chart")) {
  const data = JSON.parse(chart.querySelector("script").textContent);
  const area = chart.querySelector(".area"), cursor = chart.querySelector(".cursor");
  const reading = chart.querySelector(".reading");
  const show = (event) => {
    const box = area.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    const step = data.low + part * (data.high - data.low);
    const found = data.curves.map((c) => [c.name, nearest(c.points, step)]);
    const at = found.reduce((best, f) =>
      Math.abs(f[1][0] - step) < Math.abs(best - step) ? f[1][0] : best, found[0][1][0]);
    cursor.style.display = "block";
    cursor.style.left = (data.high > data.low ? (at - data.low) / (data.high - data.low) * 100 : 50) + "%";
    const unit = data.unit ? " " + data.unit : "";
    reading.textContent = "step " + at.toLocaleString("en") + ": " + found.map(([name, p]) =>
      name + " " + shown(p[1]) + unit + (p[0] === at ? "" : " (step " + p[0].toLocaleString("en") + ")")).join(" · ");
  };
  area.addEventListener("pointermove", show);
  area.addEventListener("pointerdown", show);
  area.addEventListener("pointerleave", () => { cursor.style.display = "none"; reading.textContent = ""; });
}
