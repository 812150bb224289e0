"use strict";
// The pictures of a page: months that load when they are near, a selection, a scrubber and a viewer.
(() => {
  // The placeholder of a picture has its average color. The content policy permits no styles in pages.
  const paint = (root) => {
    for (const image of root.querySelectorAll("img[data-color]")) image.style.backgroundColor = image.dataset.color;
  };
  paint(document);
  const photos = () => [...document.querySelectorAll("figure[data-file] > a[href$='/view']")];

  // The months. Only parts near the visible part of the page have their pictures, so that a page of 20,000 is small.
  customElements.define("journal-months", class extends HTMLElement {
    #near = new Set();
    #watcher = null;

    connectedCallback() {
      this.#watcher = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) { this.#near.add(target); setTimeout(() => this.#fill(target), 100); }
          else { this.#near.delete(target); this.#empty(target); }
        }
      }, { rootMargin: "1000px 0px" });
      this.#watch();
      document.addEventListener("journal:fresh", ({ detail }) => this.#compare(detail));
      addEventListener("resize", () => this.#watch());
    }

    get #list() { return this.querySelector("#timeline"); }

    #parts() { return [...this.#list.querySelectorAll(":scope > [data-part]")]; }

    #watch() {
      for (const part of this.#parts()) {
        this.#reserve(part);
        this.#watcher.observe(part);
      }
    }

    static isFilled(part) { return !part.querySelector(":scope > .part"); }

    // An empty part takes about the room of its pictures, so that the scroll bar shows the whole journal.
    #reserve(part) {
      if (this.constructor.isFilled(part)) { part.style.minHeight = ""; return; }
      const tiles = Number(getComputedStyle(document.documentElement).getPropertyValue("--tiles")) || 4;
      const row = Math.min(Math.max(96, 0.66 * innerWidth / tiles), 384) + 4;
      const inRow = Math.max(1, Math.floor(this.clientWidth / (row * 1.35)));
      part.style.minHeight = `${Math.ceil(Number(part.dataset.count) / inRow) * row}px`;
    }

    async #fill(part) {
      if (!this.#near.has(part) || this.constructor.isFilled(part) || part.dataset.loading) return;
      part.dataset.loading = "";
      try { await this.load(part); } catch { /* The link in the part stays. */ }
      delete part.dataset.loading;
    }

    // Loads the pictures of a part.
    async load(part) {
      const reply = await fetch(part.dataset.path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
      if (!reply.ok) throw new Error(`The server returned the status ${reply.status}.`);
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const other = page.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
      if (!other) return;
      part.dataset.count = other.dataset.count;
      this.#replace(part, other);
    }

    #replace(part, other) {
      // The placeholder's color is an attribute of a part that is shown.
      paint(other);
      if (part.innerHTML === other.innerHTML) return;
      const focus = document.activeElement;
      const place = part.contains(focus) ? [...part.querySelectorAll("a, input")].indexOf(focus) : -1;
      part.replaceChildren(...other.childNodes);
      paint(part);
      this.#reserve(part);
      if (place >= 0) (part.querySelectorAll("a, input")[place] || document.getElementById("main")).focus();
    }

    #empty(part) {
      if (!this.constructor.isFilled(part) || part.querySelector(":checked") || part.contains(document.activeElement))
        return;
      part.style.minHeight = `${part.offsetHeight}px`;
      const link = document.createElement("a");
      link.className = "part";
      link.href = part.dataset.path;
      link.textContent = `Show ${part.dataset.count} pictures`;
      part.replaceChildren(...[part.querySelector(":scope > h2"), link].filter(Boolean));
    }

    // Takes the changes of a page that was loaded again, and keeps the parts that are chosen from or pressed.
    #compare(page) {
      const list = page.getElementById("timeline");
      if (!list || !this.#list) return;
      if (!list.querySelector("[data-part]") && !this.#parts().length) {
        if (!this.querySelector(":checked, :active")) this.#list.replaceChildren(...list.childNodes);
        return;
      }
      const own = new Map(this.#parts().map((part) => [part.dataset.part, part]));
      let last = null;
      for (const other of [...list.querySelectorAll(":scope > [data-part]")]) {
        const part = own.get(other.dataset.part);
        own.delete(other.dataset.part);
        if (!part) {
          if (last) last.after(other); else this.#list.prepend(other);
          last = other;
          paint(other);
          continue;
        }
        last = part;
        const hasChanged = part.dataset.count !== other.dataset.count;
        part.dataset.count = other.dataset.count;
        if (part.querySelector(":checked, :active")) continue;
        if (this.constructor.isFilled(other)) this.#replace(part, other);
        else if (hasChanged && this.constructor.isFilled(part)) this.load(part).catch(() => {});
      }
      for (const part of own.values()) part.remove();
      this.#watch();
    }
  });

  // The selection: a click on a box, a click with Shift for all between, a drag over pictures, and a click on a picture
  // while others are chosen.
  const boxes = () => [...document.querySelectorAll("#chosen input[name=picture]")];
  const boxOf = (node) => node?.closest?.("#chosen .tiles li")?.querySelector("input[name=picture]");
  let anchor = null, drag = null;
  const choose = (from, to, isChosen) => {
    const all = boxes(), places = [all.indexOf(from), all.indexOf(to)].sort((a, b) => a - b);
    if (places[0] < 0) return;
    for (const box of all.slice(places[0], places[1] + 1)) box.checked = isChosen;
    count();
  };
  const count = () => {
    const number = document.querySelectorAll("#chosen input[name=picture]:checked").length;
    const text = document.querySelector("[data-chosen]");
    if (text && number) text.textContent = number === 1 ? "1 picture chosen" : `${number} pictures chosen`;
  };
  addEventListener("change", count);
  addEventListener("pointerdown", (event) => {
    drag = null;
    const box = event.pointerType === "mouse" && event.target.closest?.(".choose") && boxOf(event.target);
    const before = box && new Map(boxes().map((one) => [one, one.checked]));
    if (box) drag = { from: box, isChosen: !box.checked, isMoved: false, before };
  });
  addEventListener("pointermove", (event) => {
    const box = drag && event.buttons === 1 && boxOf(document.elementFromPoint(event.clientX, event.clientY));
    if (!box || (box === drag.from && !drag.isMoved)) return;
    drag.isMoved = true;
    for (const [one, wasChosen] of drag.before) one.checked = wasChosen;
    choose(drag.from, box, drag.isChosen);
  });
  addEventListener("dragstart", (event) => { if (drag) event.preventDefault(); });
  addEventListener("click", (event) => {
    if (drag?.isMoved) { drag = null; event.preventDefault(); return; }
    const box = boxOf(event.target);
    if (!box) return;
    const isLink = Boolean(event.target.closest("figure > a"));
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isLink && isPlain && (event.shiftKey || document.querySelector("#chosen input[name=picture]:checked"))) {
      event.preventDefault();
      if (event.shiftKey && anchor) choose(anchor, box, true);
      else { box.checked = !box.checked; count(); }
      anchor = box;
      return;
    }
    if (event.target !== box) return;
    if (event.shiftKey && anchor) choose(anchor, box, box.checked);
    anchor = box;
  }, true);

  // The scrubber: a drag over the months scrolls to them.
  const scrubber = document.querySelector(".scrubber");
  scrubber?.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1) return;
    const link = document.elementFromPoint(event.clientX, event.clientY)?.closest(".scrubber a");
    if (link) document.getElementById(link.hash.slice(1))?.scrollIntoView();
  });
  scrubber?.addEventListener("dragstart", (event) => event.preventDefault());

  // The viewer: one picture over the whole window.
  customElements.define("journal-viewer", class extends HTMLElement {
    #dialog = document.createElement("dialog");
    #image = new Image();
    #caption = document.createElement("span");
    #details = document.createElement("a");
    #file = "";
    #zoom = { scale: 1, x: 0, y: 0 };
    #pointers = new Map();
    #start = null;

    connectedCallback() {
      const bar = document.createElement("p"), area = document.createElement("div");
      const button = (text, label, action) => {
        const part = document.createElement("button");
        part.type = "button";
        part.textContent = text;
        part.setAttribute("aria-label", label);
        part.addEventListener("click", action);
        return part;
      };
      this.#dialog.className = "viewer";
      this.#dialog.setAttribute("aria-label", "Picture");
      bar.className = "top-bar";
      area.className = "stage-area";
      this.#details.textContent = "Details";
      this.#caption.setAttribute("aria-live", "polite");
      bar.append(
        this.#caption, this.#details, button("←", "Previous picture", () => this.#step(-1)),
        button("→", "Next picture", () => this.#step(1)), button("−", "Zoom out", () => this.#scale(1 / 1.5)),
        button("+", "Zoom in", () => this.#scale(1.5)), button("×", "Close", () => this.#dialog.close()));
      area.append(this.#image);
      this.#image.draggable = false;
      this.#dialog.append(area, bar);
      this.append(this.#dialog);
      this.#dialog.addEventListener("keydown", (event) => this.#press(event));
      this.#dialog.addEventListener("close", () => this.#link()?.focus());
      area.addEventListener("wheel", (event) => {
        event.preventDefault();
        this.#scale(event.deltaY < 0 ? 1.2 : 1 / 1.2);
      }, { passive: false });
      area.addEventListener("dblclick", () => this.#scale(this.#zoom.scale > 1 ? 0 : 2.5));
      area.addEventListener("pointerdown", (event) => this.#down(event, area));
      area.addEventListener("pointermove", (event) => this.#move(event));
      for (const type of ["pointerup", "pointercancel"]) area.addEventListener(type, (event) => this.#up(event));
    }

    open(link) {
      this.#show(link);
      if (!this.#dialog.open) this.#dialog.showModal();
    }

    #link() { return photos().find((link) => link.parentElement.dataset.file === this.#file); }

    #show(link) {
      const file = this.#file = link.parentElement.dataset.file, small = link.querySelector("img");
      this.#caption.textContent = this.#image.alt = small.alt;
      this.#details.href = `/files/${file}/view`;
      this.#scale(0);
      // The thumbnail is here already, and the larger picture replaces it.
      this.#image.src = small.currentSrc || small.src;
      const large = new Image();
      large.src = `/files/${file}/preview`;
      large.decode().then(() => { if (this.#file === file) this.#image.src = large.src; }, () => {});
      link.scrollIntoView({ block: "nearest" });
    }

    async #step(by) {
      const link = this.#link(), all = photos(), next = link && all[all.indexOf(link) + by];
      const months = document.querySelector("journal-months"), part = link?.closest("[data-part]");
      const other = by < 0 ? part?.previousElementSibling : part?.nextElementSibling;
      // The neighbour may be in a part that is not loaded yet.
      if (other && (!next || next.closest("[data-part]") !== part) && other.querySelector(":scope > .part")) {
        await months.load(other).catch(() => {});
        const fresh = photos(), place = fresh.indexOf(link);
        if (place >= 0 && fresh[place + by]) this.#show(fresh[place + by]);
      } else if (next) {
        this.#show(next);
      }
    }

    #press(event) {
      const keys = {
        ArrowLeft: () => this.#step(-1), ArrowRight: () => this.#step(1), "+": () => this.#scale(1.5),
        "-": () => this.#scale(1 / 1.5), 0: () => this.#scale(0),
      };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      keys[event.key]();
    }

    // Multiplies the size. 0 shows the whole picture.
    #scale(by) {
      const scale = by === 0 ? 1 : Math.min(Math.max(1, this.#zoom.scale * by), 8);
      if (scale === 1) this.#zoom = { scale, x: 0, y: 0 }; else this.#zoom.scale = scale;
      this.#place();
    }

    #place() {
      const { scale, x, y } = this.#zoom;
      this.#image.style.transform = scale === 1 ? "" : `translate(${x}px, ${y}px) scale(${scale})`;
    }

    #spread() {
      const [one, other] = [...this.#pointers.values()];
      return other ? Math.hypot(one.x - other.x, one.y - other.y) : 0;
    }

    #down(event, area) {
      area.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      this.#start = { x: event.clientX, y: event.clientY, spread: this.#spread(), isPinch: this.#pointers.size > 1 };
    }

    #move(event) {
      const last = this.#pointers.get(event.pointerId);
      if (!last) return;
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (this.#pointers.size > 1) {
        const spread = this.#spread();
        if (this.#start.spread > 0) this.#scale(spread / this.#start.spread);
        this.#start.spread = spread;
      } else if (this.#zoom.scale > 1) {
        this.#zoom.x += dx;
        this.#zoom.y += dy;
        this.#place();
      }
    }

    #up(event) {
      this.#pointers.delete(event.pointerId);
      const start = this.#start;
      if (this.#pointers.size || !start || start.isPinch || this.#zoom.scale > 1 || event.type === "pointercancel") return;
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      if (Math.abs(dx) > 60 && Math.abs(dx) > Math.abs(dy)) this.#step(dx < 0 ? 1 : -1);
      else if (dy > 120) this.#dialog.close();
    }
  });

  addEventListener("click", (event) => {
    const link = event.target.closest?.("figure[data-file] > a[href$='/view']");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    let viewer = document.querySelector("journal-viewer");
    if (!viewer) document.body.append(viewer = document.createElement("journal-viewer"));
    viewer.open(link);
  });
})();
