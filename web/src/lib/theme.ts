/** Light or dark: as the system says, or as chosen here. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "headgate-theme";

function stored(): Theme {
  try {
    const kept = window.localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}

export const theme = signal<Theme>(stored());
const system = window.matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(system.matches);

/** Whether the page is dark now. */
export const isDark = (): boolean => (theme.value === "system" ? systemDark.value : theme.value === "dark");

/** Keep the page in the chosen theme. */
export function applyTheme(): void {
  system.addEventListener("change", () => {
    systemDark.value = system.matches;
  });
  effect(() => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    try {
      if (theme.value === "system") window.localStorage.removeItem(KEY);
      else window.localStorage.setItem(KEY, theme.value);
    } catch {
      // a browser that keeps nothing
    }
  });
}
