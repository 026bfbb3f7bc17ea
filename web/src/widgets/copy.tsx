// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';

/** The way of browsers that give no clipboard to pages from disk. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'offscreen';
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

interface Props {
  text: () => string;
  label: string;
  /** What is copied, for those who do not see the place. */
  title: string;
}

export function CopyButton({ text, label, title }: Props) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = window.setTimeout(() => setSaid(null), 1500);
    return () => window.clearTimeout(timer);
  }, [said]);
  const copy = async () => setSaid((await copyText(text())) ? 'copied' : 'not copied');
  return (
    <button type="button" class="small noprint" title={title} aria-label={title} onClick={copy}>
      <span aria-live="polite">{said ?? label}</span>
    </button>
  );
}
