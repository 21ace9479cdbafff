"use strict";
// A page of a run that goes on: the strip follows the run, the rest is exchanged when cells have finished.
(() => {
  const strip = document.getElementById("live");
  if (!strip) return;
  let shown = Number(strip.querySelector("progress").value), state = strip.className;
  const list = (selector, lines, before = "") => {
    strip.querySelector(selector).replaceChildren(...lines.map(({ text, failed }) => {
      const item = document.createElement("li"), name = document.createElement("bdi");
      item.className = failed ? "bad" : "";
      name.textContent = text;
      item.append(before, name);
      return item;
    }));
  };
  const exchange = async () => {
    const answer = await fetch("/");
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const kept = [], open = [...document.querySelectorAll("main details[open]")].map((box) => box.closest("[id]")?.id);
    dispatchEvent(new CustomEvent("graphnetz:values", { detail: kept }));
    document.querySelector("main").replaceWith(document.adoptNode(next.querySelector("main")));
    for (const part of ["h1", ".facts"]) document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
    document.title = next.title;
    for (const id of open) if (id) for (const box of document.querySelectorAll(`#${CSS.escape(id)} > details, details#${CSS.escape(id)}`)) box.open = true;
    dispatchEvent(new CustomEvent("graphnetz:again", { detail: kept }));
  };
  const look = async () => {
    try {
      const status = await (await fetch("/status.json")).json();
      strip.className = status.state;
      strip.querySelector(".state b").textContent = status.state[0].toUpperCase() + status.state.slice(1);
      strip.querySelector(".done").textContent = status.words;
      Object.assign(strip.querySelector("progress"), { value: status.finished, max: status.total || 1 });
      list(".latest", status.latest);
      list(".working", status.running.map((text) => ({ text })), "in work: ");
      if (status.finished !== shown || status.state !== state) await exchange();
      shown = status.finished;
      state = status.state;
    } catch {
      strip.className = "away";
      strip.querySelector(".done").textContent = "the server does not answer; start it again with graphnetz serve";
    }
    setTimeout(look, state === "running" ? 2000 : 10000);
  };
  look();
})();
