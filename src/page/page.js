// The page: what the reader writes becomes questions to a worker, and its answers become elements.
"use strict";
const at = (id) => document.getElementById(id);
const own = "yours";
let mode = "simulate", about = { models: [], tests: [], changes: [] };

// The worker, and the question that waits for it.
let code, worker, waiting, count = 0;

function start() {
  const url = URL.createObjectURL(new Blob([at("worker").textContent], { type: "text/javascript" }));
  worker = new Worker(url);
  worker.onmessage = ({ data }) => {
    if (data.number === count && waiting) {
      const done = waiting;
      waiting = null;
      done(data.answer);
    }
  };
  worker.postMessage({ code });
}

// Ends the work on a question. A worker that computes hears nothing, so another one takes its place.
function stop() {
  if (waiting) {
    worker.terminate();
    start();
    const done = waiting;
    waiting = null;
    done(null);
  }
}

function ask(question) {
  stop();
  count += 1;
  return new Promise((done) => {
    waiting = done;
    worker.postMessage({ number: count, question });
  });
}

async function unpacked() {
  const packed = Uint8Array.from(atob(at("module").textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

// The state of the page, whole, is what a link holds.
function state() {
  const kept = { mode, model: at("model").value };
  for (const id of mode === "simulate" ? ["test"] : ["before", "after"]) kept[id] = at(id).value;
  if (kept.model === own) kept.own = at("own").value;
  return kept;
}

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function link() {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state())));
  const text = btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));
  return "#1" + text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function linked() {
  if (!location.hash.startsWith("#1")) return null;
  try {
    const text = atob(location.hash.slice(2).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(text, (c) => c.charCodeAt(0)));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    at("said").textContent = "The link is damaged: it holds no test.";
    return null;
  }
}

// Elements.
function element(name, text, more) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, more);
}

function options(list, names) {
  list.replaceChildren(...names.map(([value, text]) => element("option", text, { value })));
}

function turnTo(to) {
  mode = to;
  for (const id of ["simulate", "compare"]) at(id).setAttribute("aria-pressed", String(id === mode));
  at("title").textContent = mode === "simulate"
    ? "Which outcomes does a memory model allow?" : "Is this change to atomics legal?";
  at("test-pane").hidden = mode !== "simulate";
  at("before-pane").hidden = at("after-pane").hidden = mode === "simulate";
  const examples = mode === "simulate" ? about.tests : about.changes;
  options(at("example"), [["", "..."], ...examples.map((e, i) => [i, e.name])]);
  const usual = mode === "simulate" ? "that of the test's dialect" : "llvm-lb (LLVM)";
  const models = about.models.map((m) => [m.name, m.name]);
  options(at("model"), [["", usual], ...models, [own, "your own"]]);
  at("own-pane").hidden = true;
}

function example(index) {
  const chosen = (mode === "simulate" ? about.tests : about.changes)[index];
  if (!chosen) return;
  at(mode === "simulate" ? "test" : "before").value = chosen.text;
  if (mode === "compare") at("after").value = "";
}

function model() {
  const name = at("model").value;
  if (!name) return null;
  return name === own ? { name, text: at("own").value } : { name, text: null };
}

// The answers.
function simulated(answer) {
  const { states, condition, holds } = answer;
  const word = holds ? "holds" : "does not hold";
  const verdict = element("p", undefined, { className: "verdict" });
  verdict.append("The condition ", element("code", condition), ` ${word} under ${answer.model}: `,
    `${states.length} outcome${states.length === 1 ? "" : "s"} allowed, in ${(answer.seconds * 1000).toFixed(1)} ms.`);
  const table = element("table", undefined, { className: "outcomes" });
  table.append(element("caption", "The outcomes that are allowed"));
  const head = element("tr");
  head.append(...["Outcome", "Execution"].map((text) => element("th", text, { scope: "col" })));
  table.append(element("thead"));
  table.tHead.append(head);
  const body = element("tbody");
  for (const state of states.slice(0, 200)) {
    const row = element("tr"), cell = element("td");
    cell.append(element("code", state));
    const more = element("td"), show = element("button", "Show", { type: "button", onclick: () => why(state) });
    show.setAttribute("aria-label", `Show an execution with ${state}`);
    more.append(show);
    row.append(cell, more);
    body.append(row);
  }
  table.append(body);
  const notes = [];
  if (states.length > 200) notes.push(`${states.length - 200} more outcomes are in the log.`);
  if (answer.cut) notes.push("A loop was cut: it may run more often than it was followed.");
  if (answer.undefined) notes.push("The behaviour is undefined: there is a race or the like.");
  if (answer.empty) notes.push(answer.empty);
  const log = element("details");
  log.append(element("summary", "As a log of herd's form"), element("pre", answer.log));
  const form = element("form", undefined, { className: "tools" });
  const wanted = element("input", undefined, { id: "state", placeholder: condition, size: 30 });
  const label = element("label", "Why is this state allowed, or not? ");
  label.append(wanted);
  form.append(label, element("button", "Why", { id: "why" }));
  form.onsubmit = (event) => { event.preventDefault(); why(wanted.value); };
  at("result").replaceChildren(verdict, ...notes.map((note) => element("p", note, { className: "warn" })), table, form,
    element("div", undefined, { id: "reason" }), log);
}

async function why(state) {
  const answer = await busy(ask({ ask: "why", test: at("test").value, model: model(), state }));
  if (!answer || !at("reason")) return;
  const parts = [element("pre", answer.error || answer.text)];
  if (answer.picture) parts.unshift(element("figure", undefined, { innerHTML: answer.picture }));
  at("reason").replaceChildren(...parts);
  at("reason").scrollIntoView({ block: "nearest" });
}

function compared(answer) {
  const classes = { 0: "good", 1: "bad" };
  at("result").replaceChildren(
    element("p", answer.line, { className: `verdict ${classes[answer.status] || "warn"}` }), element("pre", answer.text));
}

async function busy(answer) {
  at("stop").disabled = false;
  at("result").setAttribute("aria-busy", "true");
  const got = await answer;
  if (!waiting) {
    at("stop").disabled = true;
    at("result").setAttribute("aria-busy", "false");
  }
  return got;
}

async function run() {
  const question = mode === "simulate"
    ? { ask: "simulate", test: at("test").value, model: model() }
    : { ask: "compare", before: at("before").value, after: at("after").value, model: model() };
  const answer = await busy(ask(question));
  if (!answer) {
    if (!waiting) at("result").replaceChildren(element("p", "Stopped: there is no answer.", { className: "warn" }));
  } else if (answer.error) {
    at("result").replaceChildren(element("pre", answer.error, { className: "bad" }));
  } else if (question.ask === "simulate") {
    simulated(answer);
  } else {
    compared(answer);
  }
}

let soon;
function later() {
  clearTimeout(soon);
  soon = setTimeout(run, 400);
}

async function restore() {
  const kept = await linked();
  turnTo(kept?.mode === "compare" ? "compare" : "simulate");
  example(0);
  for (const id of ["test", "before", "after", "own"]) {
    if (typeof kept?.[id] === "string") at(id).value = kept[id];
  }
  if (typeof kept?.model === "string") at("model").value = kept.model;
  at("own-pane").hidden = at("model").value !== own;
  await run();
}

async function begin() {
  code = await unpacked();
  start();
  about = await ask({ ask: "about" });
  at("version").textContent = about.version;
  for (const id of ["simulate", "compare"]) {
    at(id).onclick = () => { turnTo(id); if (!at(id === "simulate" ? "test" : "before").value) example(0); run(); };
  }
  at("example").onchange = () => { example(at("example").value); run(); };
  at("model").onchange = () => { at("own-pane").hidden = at("model").value !== own; run(); };
  at("edit").onclick = () => {
    const name = at("model").value || (mode === "compare" ? "llvm-lb" : "rc11");
    const shown = about.models.find((m) => m.name === name);
    if (shown) at("own").value = shown.text;
    at("model").value = own;
    at("own-pane").hidden = false;
    at("own").focus();
  };
  for (const id of ["test", "before", "after", "own"]) at(id).oninput = later;
  at("run").onclick = run;
  at("stop").onclick = stop;
  at("link").onclick = async () => {
    const to = await link();
    history.replaceState(null, "", to);
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    at("said").textContent = copied ? "Copied." : "The address of this page is the link now.";
  };
  onkeydown = (event) => { if (event.ctrlKey && event.key === "Enter") run(); };
  onhashchange = restore;
  await restore();
}

begin().catch((e) => {
  at("result").replaceChildren(element("p", `This browser cannot run the page: ${e}`, { className: "bad" }));
});
