// Commands that can be pasted into a shell. Pure.

// A word as a shell reads it back.
export const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

// What sets one knob: machine is the only target of knobs that stand once.
export function applyCommand({ knob, target, value }) {
  const at = target === "machine" || target === undefined ? knob : `${knob}:${target}`;
  return `pinwise apply --set ${quoted(`${at}=${value}`)}`;
}
