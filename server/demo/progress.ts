import cliProgress from 'cli-progress';
import type { DemoProgress, DemoStream } from './context.ts';

/** Shows one piece of work until it is ended. */
export interface ProgressBar {
  readonly onProgress: (progress: DemoProgress) => void;
  end(): void;
}

const lineEveryMs = 5_000;

/** A bar with rate and time left on a terminal; elsewhere a line of JSON every five seconds. */
export function openProgressBar(label: string, stream: DemoStream): ProgressBar {
  return stream.isTTY === true ? bar(label, stream as NodeJS.WriteStream) : jsonLines(label, stream);
}

function bar(label: string, stream: NodeJS.WriteStream): ProgressBar {
  const shown = new cliProgress.SingleBar(
    {
      stream,
      format: '{label} [{bar}] {percentage}% | {value}/{total} | {rate}/s | {eta_formatted} left',
      hideCursor: true,
      clearOnComplete: true,
      etaBuffer: 50,
    },
    cliProgress.Presets.rect,
  );
  let phase: string | undefined;
  let startedAt = 0;
  let running = false;
  return {
    onProgress(progress) {
      if (!running || progress.phase !== phase) {
        if (running) shown.stop();
        startedAt = performance.now();
        shown.start(progress.total, progress.done, { label: progress.phase ?? label, rate: '-' });
      }
      running = true;
      phase = progress.phase;
      const elapsedMs = performance.now() - startedAt;
      const rate = elapsedMs === 0 ? 0 : Math.round((progress.done / elapsedMs) * 1_000);
      shown.setTotal(progress.total);
      shown.update(progress.done, { rate: rate.toLocaleString('en-US') });
    },
    end() {
      if (running) shown.stop();
      running = false;
    },
  };
}

function jsonLines(label: string, stream: DemoStream): ProgressBar {
  let lineAt = performance.now();
  return {
    onProgress({ phase, done, total }) {
      if (performance.now() - lineAt < lineEveryMs) return;
      lineAt = performance.now();
      stream.write(`${JSON.stringify({ phase: phase ?? label, done, total })}\n`);
    },
    end: () => undefined,
  };
}
