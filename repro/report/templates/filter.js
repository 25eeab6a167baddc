// The style sheet does the filtering; this counts, hides tables that are left empty, and keeps the
// choice in the address, so that it can be sent to somebody.
(() => {
  const form = document.getElementById("filter");
  const lists = [...form.querySelectorAll("select")];
  const rows = [...document.querySelectorAll("tr[data-verdict]")];
  const said = document.getElementById("shown");
  const update = () => {
    const chosen = lists.filter((list) => list.value);
    document.querySelectorAll("main > section").forEach((section) => {
      const own = rows.filter((row) => section.contains(row));
      section.hidden = false;
      if (own.length) section.hidden = own.every((row) => !row.getClientRects().length);
    });
    const shown = rows.filter((row) => row.getClientRects().length).length;
    said.textContent = chosen.length ? `${shown} of ${rows.length} shown` : "";
    const words = chosen.map((list) => `${list.name}=${list.value}`).join("&");
    if (words || location.hash.includes("=")) history.replaceState(null, "", `#${words}`);
  };
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    const list = lists.find((one) => one.name === name);
    if (list && [...list.options].some((option) => option.value === value)) list.value = value;
  }
  form.addEventListener("change", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(update));
  update();
})();
