// SPDX-License-Identifier: Apache-2.0
// run.mjs MODEL: real llama.cpp, by the package node-llama-cpp, does what a server does with a
// prompt of 64 tokens: prefill, eight tokens one by one, a state saved and loaded. Waits for a line
// before it loads the model, and for another at the end.
import { createInterface } from "node:readline";
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
await lines.next();
const llama = await getLlama({ gpu: false, build: "never", skipDownload: true,
	usePrebuiltBinaries: true, logLevel: LlamaLogLevel.warn });
const model = await llama.loadModel({ modelPath: process.argv[2], useMmap: true });
const context = await model.createContext({ contextSize: 512, batchSize: 256, threads: 1 });
const sequence = context.getSequence();
const prompt = Array.from({ length: 64 }, (_, i) => 3 + (i * 37) % 256);
await sequence.evaluateWithoutGeneratingNewTokens(prompt);
let generated = 0;
for await (const _ of sequence.evaluate([10], { temperature: 0 }))
	if (++generated >= 8) break;
await sequence.saveStateToFile("/run/llama/state");
await sequence.loadStateFromFile("/run/llama/state", { acceptRisk: true });
console.log(`done: ${prompt.length} in, ${generated} out`);
await lines.next();
process.exit(0);
