"use strict";
// Enhances the pages. Without this file everything works except adding pictures.
(() => {
  const say = (text) => { document.getElementById("message").textContent = text; };

  // Running clocks.
  const words = (seconds) => {
    const minutes = Math.floor(Math.max(0, seconds) / 60);
    return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  };
  const tick = () => {
    for (const clock of document.querySelectorAll("[data-since]")) {
      const text = words((Date.now() - Number(clock.dataset.since)) / 1000);
      if (clock.textContent !== text) clock.textContent = text;
    }
    for (const badge of document.querySelectorAll('[data-state="retrying"]')) {
      const left = Math.ceil((Number(badge.dataset.until) - Date.now()) / 1000);
      const text = left > 0 ? `failed, next try in ${left} s` : "failed, next try now";
      if (badge.dataset.until && badge.textContent !== text) badge.textContent = text;
    }
  };
  setInterval(tick, 1000);

  // Loads the page again and replaces the parts that have changed, except where the user is typing.
  const fetchPage = async (path) => {
    const reply = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (reply.status === 404) say("The content of this page was deleted.");
    if (!reply.ok) throw new Error(`The server returned the status ${reply.status}.`);
    return new DOMParser().parseFromString(await reply.text(), "text/html");
  };
  // Fields that the user has not changed take values that another window or device has saved.
  const refreshFields = (fresh) => {
    for (const was of document.querySelectorAll("[data-live-form] input[name^=was-]")) {
      const other = fresh.querySelector(`[data-live-form] input[name="${CSS.escape(was.name)}"]`);
      const field = was.form.elements[was.name.slice(4)];
      if (!other || !field || other.value === was.value || field === document.activeElement) continue;
      const isBox = field.type === "checkbox";
      if ((isBox ? (field.checked ? "on" : "off") : field.value) !== was.value) continue;
      if (isBox) field.checked = other.value === "on"; else field.value = other.value;
      was.value = other.value;
    }
  };
  // Lets the files of the page "How it works" move from where they were to where they are now.
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
  const places = () => new Map([...document.querySelectorAll("journal-flow [data-chips] > li")].map(
    (chip) => [chip.dataset.file, chip.getBoundingClientRect()]));
  const fly = (before) => {
    if (isCalm.matches) return;
    for (const chip of document.querySelectorAll("journal-flow [data-chips] > li")) {
      const from = before.get(chip.dataset.file), to = chip.getBoundingClientRect();
      if (!from || (Math.abs(from.x - to.x) < 2 && Math.abs(from.y - to.y) < 2)) continue;
      chip.animate(
        [{ transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)` }, { transform: "none" }],
        { duration: 600, easing: "ease-in-out" });
    }
  };
  let loading = false, again = false;
  const refresh = async () => {
    if (loading) { again = true; return; }
    loading = true;
    try {
      const fresh = await fetchPage(location.href);
      // A restarted server accepts only its new token.
      const token = document.body.dataset.token = fresh.body.dataset.token;
      for (const field of document.querySelectorAll("input[name=token]")) field.value = token;
      document.body.dataset.version = fresh.body.dataset.version;
      // The classes set the appearance of the page.
      document.documentElement.className = fresh.documentElement.className;
      refreshFields(fresh);
      document.dispatchEvent(new CustomEvent("journal:fresh", { detail: fresh }));
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.getElementById(part.id);
        if (!other || other.innerHTML === part.innerHTML) continue;
        // A replaced button would ignore the release of the pointer.
        if (part.querySelector(":active")) { again = true; continue; }
        const focus = document.activeElement;
        if (part.contains(focus) && /^(INPUT|TEXTAREA|SELECT)$/.test(focus.tagName)) continue;
        // Keeps a list in which the user has chosen pictures, or has loaded older ones than those of the first page.
        if (part.querySelector("input:checked") || "older" in part.dataset) continue;
        const kinds = "a, button, summary";
        const place = part.contains(focus) ? [...part.querySelectorAll(kinds)].indexOf(focus) : -1;
        const before = places();
        part.replaceChildren(...other.childNodes);
        fly(before);
        if (place >= 0) (part.querySelectorAll(kinds)[place] || document.getElementById("main")).focus();
      }
      tick();
      watchOlder();
    } catch { /* The stream of events reports when the server is back. */ }
    setTimeout(() => {
      loading = false;
      if (again) { again = false; refresh(); }
    }, 400);
  };

  // Changes by other windows, other devices and the background work. A browser opens six connections to a server, so
  // all tabs share one stream of events: the tab with the lock has it, and passes the events on.
  class SharedEvents extends EventTarget {
    #channel = "BroadcastChannel" in window ? new BroadcastChannel("journal-events") : null;
    #stream = null;
    #last = null;
    #version = "";
    #release = () => {};

    constructor() {
      super();
      if (!this.#channel || !navigator.locks) { this.#open(); return; }
      this.#channel.addEventListener("message", ({ data }) => {
        if (data.type !== "hello") { this.#tell(data); return; }
        // A new tab learns the state of the storage, which is the first event of a stream.
        if (this.#last !== null) this.#pass("storage", this.#last);
      });
      navigator.locks.request("journal-events", () => new Promise((resolve) => {
        this.#release = resolve;
        this.#open();
      })).catch(() => this.#open());
      this.#channel.postMessage({ type: "hello" });
      // A tab that is shown again after it was kept for the button Back takes part again.
      addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
    }

    close() {
      this.#stream?.close();
      this.#channel?.close();
      this.#release();
    }

    #open() {
      this.#stream = new EventSource("/events");
      this.#stream.addEventListener("open", () => this.#pass("open", ""));
      this.#stream.addEventListener("error", () => { this.#last = null; this.#pass("error", ""); });
      for (const type of ["changed", "storage", "file"]) {
        this.#stream.addEventListener(type, (event) => {
          if (type === "storage") this.#last = event.data;
          this.#version = event.lastEventId;
          this.#pass(type, event.data);
        });
      }
    }

    #pass(type, text) {
      const message = { type, text, version: this.#version };
      this.#channel?.postMessage(message);
      this.#tell(message);
    }

    #tell({ type, text, version }) {
      this.dispatchEvent(new MessageEvent(type, { data: text, lastEventId: version }));
    }
  }

  const showFile = ({ file, state, text, reason, until }) => {
    if (!file || !state) return;
    for (const part of document.querySelectorAll(`[data-file="${CSS.escape(file)}"]`)) {
      const badge = part.querySelector("[data-badge]"), why = part.querySelector("[data-why]");
      if (badge) {
        badge.className = `badge ${state}`;
        Object.assign(badge.dataset, { state, until });
        badge.textContent = text;
        badge.title = reason;
      }
      if (why) why.textContent = reason;
    }
    tick();
  };

  if ("livePage" in document.body.dataset) {
    // True until the stream of events begins, for the first time or again.
    let isMissing = true;
    const events = new SharedEvents();
    events.addEventListener("open", () => say(""));
    events.addEventListener("error", () => {
      isMissing = true;
      say("The server does not answer. This page may be out of date.");
    });
    events.addEventListener("changed", refresh);
    events.addEventListener("storage", (event) => {
      const reason = JSON.parse(event.data).reason, outage = document.getElementById("outage");
      const text = reason && `The storage is unavailable: ${reason}`;
      // From the first event of a connection on, no event is missing. If its version is that of the page, none was
      // missed before. Badges show the reason of an outage.
      const isBehind = isMissing && event.lastEventId !== document.body.dataset.version;
      if (isBehind || outage.textContent !== text) refresh();
      isMissing = false;
      outage.textContent = text;
    });
    events.addEventListener("file", (event) => {
      const values = JSON.parse(event.data);
      showFile(values);
      document.dispatchEvent(new CustomEvent("journal:file", { detail: values }));
    });
    addEventListener("pagehide", () => events.close());
  }

  // The stages of the page "How it works": each event of the library moves the file to its stage.
  customElements.define("journal-flow", class extends HTMLElement {
    connectedCallback() {
      document.addEventListener("journal:file", ({ detail: { file, stage, text } }) => {
        const chip = file && stage && this.querySelector(`[data-chips] > [data-file="${CSS.escape(file)}"]`);
        const list = stage && this.querySelector(`[data-chips="${CSS.escape(stage)}"]`);
        if (!chip) return;
        const before = places();
        if (stage === "removed") chip.remove(); else if (list && chip.parentElement !== list) list.prepend(chip);
        if (text) chip.querySelector("img").title = text;
        fly(before);
      });
    }
  });

  // The list of the last events, the newest first.
  customElements.define("journal-log", class extends HTMLElement {
    connectedCallback() {
      document.addEventListener("journal:file", ({ detail: { name, line, time, file } }) => {
        const list = this.querySelector("ol"), first = list.firstElementChild;
        const item = document.createElement("li");
        for (const [kind, text] of [["time", time], ["strong", name], ["span", line]]) {
          const part = document.createElement(kind);
          part.textContent = text;
          item.append(part, " ");
        }
        if (file) {
          const link = document.createElement("a");
          link.href = `/files/${file}/inspect`;
          link.textContent = file;
          item.append(link);
        }
        item.dataset.key = `${name} ${file}`;
        // Progress is reported ten times a second, and takes one line.
        if (/^(progress|downloading)$/.test(name) && first?.dataset.key === item.dataset.key) first.remove();
        list.prepend(item);
        while (list.children.length > 50) list.lastElementChild.remove();
      });
    }
  });

  // A menu closes with the key Escape, and when the user clicks elsewhere.
  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
  };
  addEventListener("click", (event) => closeMenus(event.target.closest?.("details.menu")));
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector("details.menu[open]");
    closeMenus(null);
    menu?.querySelector("summary").focus();
  });

  // Loads older days while the user scrolls. The link to them is the end of the list.
  const watcher = new IntersectionObserver(async (entries) => {
    const link = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)[0];
    if (!link) return;
    watcher.disconnect();
    try {
      const page = await fetchPage(link.href);
      const list = link.closest("[data-more]");
      if (!list) return;
      list.dataset.older = "";
      link.parentElement.remove();
      list.append(...page.getElementById(list.id).childNodes);
      watchOlder();
    } catch (error) { say(error.message); }
  }, { rootMargin: "600px" });
  const watchOlder = () => {
    watcher.disconnect();
    const older = document.getElementById("older");
    if (older) watcher.observe(older);
  };
  watchOlder();

  // The arrow keys lead to the neighbours of a picture.
  addEventListener("keydown", (event) => {
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    if (!rel || event.altKey || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName))
      return;
    document.querySelector(`.links a[rel=${rel}]`)?.click();
  });

  // Chosen, dropped and pasted pictures. Each is the body of one request, and at most three run at a time.
  const drop = document.getElementById("drop");
  if (!drop) return;
  drop.hidden = false;
  const list = document.getElementById("uploads");
  const waiting = [];
  let running = 0;
  const kinds = [
    ["image/jpeg", [0xff, 0xd8, 0xff], 0], ["image/png", [0x89, 0x50, 0x4e, 0x47], 0], ["image/gif", [0x47, 0x49, 0x46], 0],
    ["image/webp", [0x57, 0x45, 0x42, 0x50], 8], ["image/avif", [0x66, 0x74, 0x79, 0x70, 0x61, 0x76, 0x69], 4],
    ["image/heic", [0x66, 0x74, 0x79, 0x70], 4],
  ];
  const kind = async (file) => {
    const head = new Uint8Array(await file.slice(0, 12).arrayBuffer());
    const match = kinds.find(([, bytes, start]) => bytes.every((byte, index) => head[start + index] === byte));
    return match ? match[0] : "application/octet-stream";
  };
  // Pictures of a page without a record get a new one, once for all.
  let record = null;
  const makeRecord = async () => {
    const body = new URLSearchParams({ token: document.body.dataset.token, comment: "Pictures", ended: "yes" });
    const reply = await fetch(drop.dataset.record, { method: "POST", body, headers: { Accept: "text/html" } });
    if (!reply.ok) throw new Error(`The server returned the status ${reply.status}.`);
    return `${new URL(reply.url).pathname}/pictures`;
  };
  const target = async () => {
    if (drop.dataset.upload) return drop.dataset.upload;
    record ??= makeRecord();
    try { return await record; } catch (error) { record = null; throw error; }
  };
  const send = async (file, type, bar) => {
    const path = await target();
    return new Promise((resolve, reject) => upload(path, file, type, bar, resolve, reject));
  };
  const upload = (path, file, type, bar, resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("Content-Type", type);
    request.setRequestHeader("X-Journal-Token", document.body.dataset.token);
    request.setRequestHeader("Accept", "application/json");
    request.upload.addEventListener("progress", (event) => { bar.max = event.total; bar.value = event.loaded; });
    request.addEventListener("load", () => {
      if (request.status === 201) return resolve();
      let message = `The server returned the status ${request.status}.`;
      try { message = JSON.parse(request.responseText).message; } catch { /* The reply has no message. */ }
      reject(new Error(message));
    });
    request.addEventListener("error", () => reject(new Error("The server does not answer. Try again.")));
    request.send(file);
  };
  const work = async () => {
    if (running >= 3 || !waiting.length) return;
    running += 1;
    const { file, line, bar, note } = waiting.shift();
    try {
      if (file.size > Number(drop.dataset.limit)) throw new Error("The picture is too large.");
      note.textContent = "uploading";
      await send(file, await kind(file), bar);
      line.remove();
      refresh();
    } catch (error) {
      bar.remove();
      note.className = "bad";
      note.textContent = error.message;
    }
    running -= 1;
    work();
  };
  const add = (files) => {
    for (const file of files) {
      const line = document.createElement("li"), bar = document.createElement("progress");
      const label = document.createElement("span"), note = document.createElement("span");
      label.textContent = `${file.name || "Pasted picture"}: `;
      note.textContent = "waiting";
      bar.max = file.size || 1;
      bar.value = 0;
      bar.setAttribute("aria-label", file.name || "Pasted picture");
      line.append(label, note, bar);
      list.append(line);
      waiting.push({ file, line, bar, note });
      work();
    }
  };
  // A link to a menu opens it.
  const openMenu = () => {
    const menu = document.getElementById(location.hash.slice(1));
    if (menu?.localName === "details") menu.open = true;
  };
  const input = document.getElementById("files");
  input.addEventListener("change", () => { add(input.files); input.value = ""; });
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
  addEventListener("dragleave", () => document.body.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    add(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => add(event.clipboardData.files));
  openMenu();
  addEventListener("hashchange", openMenu);
  addEventListener("beforeunload", (event) => { if (running) event.preventDefault(); });
})();
