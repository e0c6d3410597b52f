// Light or dark: as the system says, unless the reader chose the other one with the button.
"use strict";
(() => {
  const KEY = "stoker-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  function chosen() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }

  // Choosing what the system says anyway means to follow the system again.
  function remember(theme) {
    try {
      if (theme === (system.matches ? "dark" : "light")) localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, theme);
    } catch { /* A browser that keeps nothing shows it until the page is left. */ }
  }

  function apply(theme) {
    root.dataset.theme = theme;
    document.getElementById("theme")?.setAttribute("aria-pressed", String(theme === "dark"));
  }

  function current() {
    const theme = chosen();
    return theme === "light" || theme === "dark" ? theme : system.matches ? "dark" : "light";
  }

  apply(current());
  system.addEventListener("change", () => apply(current()));
  addEventListener("DOMContentLoaded", () => {
    apply(current());
    document.getElementById("theme").addEventListener("click", () => {
      const theme = root.dataset.theme === "dark" ? "light" : "dark";
      remember(theme);
      apply(theme);
    });
  });
})();
