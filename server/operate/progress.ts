import { SingleBar } from 'cli-progress';

/** Tells on standard error how far a long piece of work is; standard output stays for the result. */
export interface Progress {
  /** `count` rows are done of what `label` names. */
  tell(label: string, count: number): void;
  /** May be called twice. */
  end(): void;
}

/** A line that is rewritten on a terminal; elsewhere one JSON line every five seconds. */
export function openProgress(verb: string, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return jsonLines(verb, stream, Date.now);
  const bar = new SingleBar({
    format: `${verb}: {label} {value} rows, {duration_formatted}`,
    stream,
    hideCursor: true,
    clearOnComplete: true,
  });
  let started = false;
  return {
    tell(label, count) {
      // How many rows there are is not known without counting them first.
      if (!started) bar.start(0, count, { label });
      else bar.update(count, { label });
      started = true;
    },
    end() {
      if (started) bar.stop();
      started = false;
    },
  };
}

const everyMs = 5_000;

/** For logs and pipes; nothing is written about work that ends within the first five seconds. */
export function jsonLines(
  verb: string,
  stream: { write(text: string): unknown },
  now: () => number,
): Progress {
  let last = now();
  return {
    tell(label, count) {
      if (now() - last < everyMs) return;
      last = now();
      stream.write(`${JSON.stringify({ verb, label, count })}\n`);
    },
    end: () => undefined,
  };
}
