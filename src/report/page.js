// The page by itself copies texts, sorts and filters tables, keeps that in its address, and opens the part that
// a link names. Without this script it says the same.
"use strict";
(() => {
  const make = (name, text) => {
    const out = document.createElement(name);
    if (text) out.textContent = text;
    return out;
  };

  // What a reader of the screen is told.
  const said = make("p");
  said.className = "here";
  said.setAttribute("role", "status");
  document.body.append(said);

  const copied = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  };

  for (const pre of document.querySelectorAll("pre.copy")) {
    const box = make("div"), button = make("button", "Copy");
    box.className = "code";
    button.type = "button";
    button.setAttribute("aria-label", "Copy: " + (pre.getAttribute("aria-label") || "text"));
    pre.replaceWith(box);
    box.append(pre, button);
    button.addEventListener("click", async () => {
      await copied(pre.textContent);
      button.textContent = "Copied";
      said.textContent = "copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // What scrolls can be reached with the keyboard.
  const reach = () => {
    for (const box of document.querySelectorAll("pre, .scroll, figure")) {
      if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
        if (!box.hasAttribute("aria-label") && box.tagName !== "FIGURE") {
          box.setAttribute("aria-label", "scrolls sideways");
        }
        if (box.tagName !== "FIGURE") box.setAttribute("role", "region");
      }
    }
  };

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell ? cell.dataset.v ?? cell.textContent.trim() : "";
  };
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a < b ? -1 : a > b ? 1 : 0;
  };

  // Choices of the user are in the address, so that a link shows the same rows. Each table after the first has
  // a prefix of its own.
  const address = new URLSearchParams(location.search);
  const keep = (name, value) => {
    if (value) address.set(name, value); else address.delete(name);
    const query = address.toString();
    try {
      history.replaceState(null, "", location.pathname + (query && "?" + query) + location.hash);
    } catch {
      // Where the page lies, addresses cannot be changed.
    }
  };

  document.querySelectorAll("table.list").forEach((table, number) => {
    const prefix = number ? number + 1 + "." : "";
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    const sort = (column, up) => {
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows];
      rows.sort((a, b) => (up ? 1 : -1) * compare(value(a, column), value(b, column)));
      body.append(...rows);
    };
    heads.forEach((head, column) => {
      if ("mark" in head.dataset) return;
      const name = head.textContent;
      const button = make("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        sort(column, up);
        keep(prefix + "sort", (up ? "" : "-") + name);
        said.textContent = "sorted by " + button.textContent + (up ? ", ascending" : ", descending");
      });
      const asked = address.get(prefix + "sort");
      if (asked === name || asked === "-" + name) sort(column, asked === name);
    });

    const tools = make("div"), label = make("label", "Filter"), input = make("input");
    const thing = table.dataset.thing || "rows", count = make("span");
    tools.className = "tools";
    tools.setAttribute("role", "search");
    tools.setAttribute("aria-label", "Filter " + thing);
    input.type = "search";
    label.append(input);
    tools.append(label);
    const choices = [];
    heads.forEach((head, column) => {
      if (!("choice" in head.dataset)) return;
      const box = make("label", head.textContent), select = make("select");
      const values = [...new Set([...body.rows].map((row) => value(row, column)))].sort(compare);
      select.append(new Option("all", ""), ...values.map((v) => new Option(v, v)));
      box.append(select);
      tools.append(box);
      choices.push([column, select]);
      const name = prefix + head.textContent, asked = address.get(name);
      if (asked && !values.includes(asked)) select.append(new Option(asked, asked));
      if (asked) select.value = asked;
      select.addEventListener("change", () => keep(name, select.value));
    });
    input.value = address.get(prefix + "filter") || "";
    input.addEventListener("input", () => keep(prefix + "filter", input.value));
    count.className = "dim";
    count.setAttribute("role", "status");
    tools.append(count);
    const texts = new Map([...body.rows].map((row) => [row, row.textContent.toLowerCase()]));
    const show = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const fits = words.every((word) => texts.get(row).includes(word)) &&
          choices.every(([column, select]) => select.value === "" || value(row, column) === select.value);
        row.hidden = !fits;
        if (fits) shown += 1;
      }
      count.textContent = shown + " of " + body.rows.length + " " + thing;
    };
    input.addEventListener("input", show);
    choices.forEach(([, select]) => select.addEventListener("change", show));
    (table.closest(".scroll") || table).before(tools);
    show();
  });

  // A link to a part that is folded opens it.
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  addEventListener("resize", reach);
  addEventListener("toggle", reach, true);
  open();
  reach();
})();
