/** Draws the timeline: everything in one pass, from the runs that are kept. */

import type { Run } from "../../api/types";
import { clock } from "../../lib/format";
import {
  AXIS,
  type Band,
  HEADING,
  heightOf,
  type Rows,
  runBand,
  WAIT_ROW,
  WORKER_ROW,
  waitBand,
  waitsTop,
  waitTop,
  workerTop,
} from "./rows";
import type { Bar, RunStore } from "./run_store";
import { aligned, COLUMN, crowded, shares } from "./shares";
import { decimals, ticks, type View, xOf } from "./time_scale";

export interface Palette {
  text: string;
  quiet: string;
  line: string;
  strong: string;
  surface: string;
  shade: string;
  bad: string;
  accent: string;
  classes: ReadonlyMap<string, string>;
  other: string; // of classes that are unknown
  font: string;
}

export interface Picture {
  store: RunStore;
  rows: Rows;
  view: View;
  width: number;
  palette: Palette;
  chosen: Bar | undefined;
  hovered: Bar | undefined;
  stillWaiting: ReadonlyMap<string, number>; // since when the oldest tuple waits, by class
}

type Pen = CanvasRenderingContext2D;

export function draw(pen: Pen, picture: Picture): void {
  const { store, view, width, rows } = picture;
  pen.clearRect(0, 0, width, heightOf(rows));
  pen.font = picture.palette.font;
  pen.textBaseline = "middle";
  drawRows(pen, picture);
  drawAxis(pen, picture);
  const seen = store.bars.filter((bar) => bar.run.oldest < view.to && (bar.run.ended ?? view.to) >= view.from);
  for (const bar of seen) drawWait(pen, picture, bar);
  drawStillWaiting(pen, picture);
  if (crowded(seen, rowsOfRuns(picture), width)) drawShares(pen, picture, seen);
  else for (const bar of seen) drawRun(pen, picture, bar);
  for (const bar of new Set([picture.hovered, picture.chosen])) if (bar) outline(pen, picture, bar);
}

/** The colour of a class. */
export const colourOf = (palette: Palette, name: string): string => palette.classes.get(name) ?? palette.other;

function drawRows(pen: Pen, { store, rows, view, width, palette }: Picture): void {
  const unknown = xOf(Math.max(store.keptFrom, store.loadedFrom), view, width);
  if (unknown > 0) {
    pen.fillStyle = palette.shade; // nothing is kept, or not read yet
    pen.fillRect(0, AXIS, Math.min(width, unknown), heightOf(rows) - AXIS);
  }
  pen.fillStyle = palette.line;
  for (let worker = 0; worker <= rows.workers; worker += 1) pen.fillRect(0, workerTop(worker), width, 1);
  for (let place = 0; place <= rows.classes.length; place += 1) pen.fillRect(0, waitTop(rows, place), width, 1);
}

function drawAxis(pen: Pen, { view, width, rows, palette }: Picture): void {
  const { step, at } = ticks(view, width, 84);
  const places = decimals(step);
  pen.textAlign = "left";
  for (const moment of at) {
    const x = Math.round(xOf(moment, view, width));
    pen.fillStyle = palette.line;
    pen.fillRect(x, 0, 1, workerTop(rows.workers));
    pen.fillRect(x, waitsTop(rows), 1, rows.classes.length * WAIT_ROW);
    const text = places ? clock(moment) + (moment % 1).toFixed(places).slice(1) : clock(moment);
    if (x + 4 + pen.measureText(text).width > width) continue;
    pen.fillStyle = palette.quiet;
    pen.fillText(text, x + 4, AXIS / 2);
  }
  pen.fillStyle = palette.quiet;
  if (rows.classes.length) pen.fillText("waiting, until the run began", 4, waitsTop(rows) - HEADING / 2);
}

function drawWait(pen: Pen, picture: Picture, bar: Bar): void {
  const band = waitBand(bar, picture.rows);
  if (!band) return;
  const { view, width, palette } = picture;
  const x = xOf(bar.run.oldest, view, width);
  const end = xOf(bar.run.began, view, width);
  pen.globalAlpha = 0.55;
  pen.fillStyle = colourOf(palette, bar.run.class);
  pen.fillRect(x, band.top, Math.max(0.5, end - x), band.height);
  pen.globalAlpha = 1;
  if (end - x > 4) pen.fillRect(end - 1.5, band.top, 1.5, band.height);
}

/** What waits and has not been chosen yet: open at its end. */
function drawStillWaiting(pen: Pen, { stillWaiting, rows, view, width, palette, store }: Picture): void {
  rows.classes.forEach((name, place) => {
    const since = stillWaiting.get(name);
    if (since === undefined || since >= store.at) return;
    const x = xOf(since, view, width);
    const end = xOf(store.at, view, width);
    const y = waitTop(rows, place) + WAIT_ROW - 4.5;
    pen.strokeStyle = colourOf(palette, name);
    pen.lineWidth = 2;
    pen.setLineDash([4, 3]);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(Math.max(x + 1, end), y);
    pen.stroke();
    pen.setLineDash([]);
  });
}

/** How many runs could be drawn under each other. */
const rowsOfRuns = ({ store, rows }: Picture): number => (store.overlapping ? store.lanesOf(0) : rows.workers);

/** Runs that could not be told apart: columns in which each class has as much of the height as it had of the time. */
function drawShares(pen: Pen, picture: Picture, seen: readonly Bar[]): void {
  const { view, width, rows, palette, store } = picture;
  const steady = aligned(view, width); // else columns would flicker while the picture moves on
  const shift = Math.round(xOf(steady.from, view, width));
  const height = WORKER_ROW - 8;
  shares(seen, steady, width + COLUMN, store.at).forEach((classes, worker) => {
    const below = new Float32Array(Math.ceil(width / COLUMN) + 1);
    for (const name of [...classes.keys()].sort((a, b) => rank(rows, a) - rank(rows, b))) {
      pen.fillStyle = colourOf(palette, name);
      classes.get(name)!.forEach((time, column) => {
        const share = time / store.lanesOf(worker);
        const bottom = workerTop(worker) + 4 + height * (1 - Math.min(1, below[column]!));
        const tall = height * Math.min(share, 1 - Math.min(1, below[column]!));
        pen.fillRect(shift + column * COLUMN, bottom - tall, COLUMN, tall);
        below[column]! += share;
      });
    }
  });
  for (const bar of seen) {
    if (bar.run.state !== "failed") continue;
    failedMark(pen, palette, xOf(bar.run.began, view, width), workerTop(bar.run.worker) + 4);
  }
}

const rank = (rows: Rows, name: string): number => {
  const place = rows.classes.indexOf(name);
  return place < 0 ? rows.classes.length : place;
};

function drawRun(pen: Pen, picture: Picture, bar: Bar): void {
  const { view, width, palette, store } = picture;
  const { run } = bar;
  if (run.began >= view.to) return;
  const band = runBand(bar, store.lanesOf(run.worker));
  const x = xOf(run.began, view, width);
  const end = run.ended === undefined ? openEnd(picture) : xOf(bar.freed, view, width);
  const wide = Math.max(0.4, end - x - (end - x > 3 ? 0.75 : 0)); // a gap shows where one ends and the next begins
  const colour = colourOf(palette, run.class);
  if (run.ended !== undefined && run.ended > bar.freed) {
    pen.fillStyle = colour; // its worker is free, and its results are being committed
    pen.fillRect(end, band.top + band.height, xOf(run.ended, view, width) - end, 2);
  }
  if (run.state === "done" || run.state === "running") {
    pen.fillStyle = colour;
    pen.fillRect(x, band.top, wide, band.height);
  } else {
    drawBroken(pen, palette, run, x, wide, band);
  }
  if (run.state === "running") drawOpenEnd(pen, palette, x, wide, band);
  if (wide > 12 && band.height > 10) drawText(pen, palette, run, x, wide, band);
}

/** Where a run that is under way ends in the picture, so that its open end is seen. */
const openEnd = ({ store, view, width }: Picture): number => Math.min(width - 1, xOf(store.at, view, width));

/** A run that did not end well: hatched in the colour of its class; a failed one is framed and crossed as well. */
function drawBroken(pen: Pen, palette: Palette, run: Run, x: number, wide: number, band: Band): void {
  const colour = colourOf(palette, run.class);
  pen.save();
  pen.beginPath();
  pen.rect(x, band.top, Math.max(2, wide), band.height);
  pen.clip();
  pen.fillStyle = palette.surface;
  pen.fillRect(x, band.top, Math.max(2, wide), band.height);
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  for (let at = x - band.height; at < x + wide + 4; at += 5) {
    pen.moveTo(at, band.top + band.height);
    pen.lineTo(at + band.height, band.top);
  }
  pen.stroke();
  pen.restore();
  pen.strokeStyle = run.state === "failed" ? palette.bad : colour;
  pen.lineWidth = run.state === "failed" ? 2 : 1;
  pen.setLineDash(run.state === "unfinished" ? [3, 2] : []);
  pen.strokeRect(x + 0.5, band.top + 0.5, Math.max(1, wide - 1), band.height - 1);
  pen.setLineDash([]);
  if (run.state === "failed") failedMark(pen, palette, x + Math.max(2, wide) / 2, band.top);
}

/** A mark above a failed run, which is seen however short it was. */
function failedMark(pen: Pen, palette: Palette, x: number, top: number): void {
  pen.fillStyle = palette.bad;
  pen.beginPath();
  pen.moveTo(x - 4, top - 4);
  pen.lineTo(x + 4, top - 4);
  pen.lineTo(x, top + 2);
  pen.fill();
}

/** The end of a run that is under way: teeth instead of an edge. */
function drawOpenEnd(pen: Pen, palette: Palette, x: number, wide: number, band: Band): void {
  const tooth = Math.min(5, wide);
  const end = x + wide;
  pen.fillStyle = palette.surface;
  pen.beginPath();
  const teeth = 4;
  for (let place = 0; place < teeth; place += 1) {
    const top = band.top + (band.height / teeth) * place;
    pen.moveTo(end + 0.5, top);
    pen.lineTo(end - tooth, top + band.height / teeth / 2);
    pen.lineTo(end + 0.5, top + band.height / teeth);
  }
  pen.fill();
}

function drawText(pen: Pen, palette: Palette, run: Run, x: number, wide: number, band: Band): void {
  const broken = run.state !== "done" && run.state !== "running";
  const from = Math.max(x, 0);
  const room = x + wide - from - 6;
  const count = String(run.members);
  const long = `${count} · ${run.unit}`;
  const text = fits(pen, long, room) ? long : fits(pen, count, room) ? count : "";
  if (!text) return;
  const middle = band.top + band.height / 2 + 1;
  if (broken) {
    pen.fillStyle = palette.surface;
    pen.fillRect(from + 2, middle - 8, pen.measureText(text).width + 4, 15);
  }
  pen.textAlign = "left";
  pen.fillStyle = broken ? palette.text : palette.surface;
  pen.fillText(text, from + 4, middle);
}

const fits = (pen: Pen, text: string, room: number): boolean =>
  text.length * 4 < room && pen.measureText(text).width <= room;

/** A frame around a run and around its wait, and the way from one to the other. */
function outline(pen: Pen, picture: Picture, bar: Bar): void {
  const { view, width, palette, store, rows } = picture;
  const began = xOf(bar.run.began, view, width);
  const end = bar.run.ended === undefined ? openEnd(picture) : xOf(bar.freed, view, width);
  const band = runBand(bar, store.lanesOf(bar.run.worker));
  const isChosen = bar === picture.chosen;
  pen.strokeStyle = isChosen ? palette.text : palette.strong;
  pen.lineWidth = isChosen ? 2 : 1;
  pen.strokeRect(began - 1, band.top - 1, Math.max(2, end - began) + 1, band.height + 2);
  const wait = waitBand(bar, rows);
  if (!wait) return;
  const since = xOf(bar.run.oldest, view, width);
  pen.strokeRect(since - 1, wait.top - 1, Math.max(2, began - since) + 1, wait.height + 2);
  if (!isChosen) return;
  pen.lineWidth = 1;
  pen.setLineDash([2, 2]);
  pen.beginPath();
  pen.moveTo(began - 0.5, band.top + WORKER_ROW - 8);
  pen.lineTo(began - 0.5, wait.top);
  pen.stroke();
  pen.setLineDash([]);
}
