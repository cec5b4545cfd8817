// SPDX-License-Identifier: Apache-2.0
// Makes the GGUF fixtures beside it, and what an independent reader finds in them:
//
//   npm install @huggingface/gguf@0.4.6 && node make.mjs
//
// Keys are written by that package too (serializeGgufMetadata); tensors' entries and data by hand,
// from the specification. *.json is what its gguf() reads back: offsets, types, keys.
import { writeFileSync } from "node:fs";
import { gguf, serializeGgufMetadata, GGUFValueType as V } from "@huggingface/gguf";

const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32LE(n); return b; };
const u64 = (n) => { const b = Buffer.alloc(8); b.writeBigUInt64LE(BigInt(n)); return b; };
const text = (s) => Buffer.concat([u64(Buffer.byteLength(s)), Buffer.from(s)]);
const pad = (n, to) => Buffer.alloc((to - (n % to)) % to);

const types = { F32: [0, 1, 4], F16: [1, 1, 2], Q8_0: [8, 32, 34], Q4_K: [12, 256, 144],
	Q6_K: [14, 256, 210], BF16: [30, 1, 2], MXFP4: [39, 32, 17] };

function build(file, { version = 3, alignment = 32, keys, tensors }) {
	const typed = { version: { value: version, type: V.UINT32 },
		tensor_count: { value: BigInt(tensors.length), type: V.UINT64 },
		kv_count: { value: BigInt(Object.keys(keys).length), type: V.UINT64 }, ...keys };
	let head = Buffer.from(serializeGgufMetadata(typed, { alignment: 1 }));
	const infos = [], data = [];
	let at = 0;
	for (const [name, type, shape] of tensors) {
		const [id, elements, bytes] = types[type];
		infos.push(text(name), u32(shape.length), ...shape.map(u64), u32(id), u64(at));
		const size = (shape.reduce((a, b) => a * b, 1) / elements) * bytes;
		data.push(Buffer.alloc(size, 0x5a), pad(size, alignment));
		at += size + pad(size, alignment).length;
	}
	head = Buffer.concat([head, ...infos]);
	writeFileSync(file, Buffer.concat([head, pad(head.length, alignment), ...data]));
}

async function read(file) {
	const found = await gguf(`./${file}`, { allowLocalFile: true });
	const plain = (_, v) => (typeof v === "bigint" ? Number(v) : v);
	writeFileSync(file.replace(/gguf$/, "json"), JSON.stringify({ source: "@huggingface/gguf 0.4.6",
		metadata: found.metadata, data: found.tensorDataOffset, tensors: found.tensorInfos }, plain, 1)
		+ "\n");
}

const string = (value) => ({ value, type: V.STRING });
const number = (value) => ({ value, type: V.UINT32 });
const split = (no, count, tensors) => ({ "split.no": { value: no, type: V.UINT16 },
	"split.count": { value: count, type: V.UINT16 },
	"split.tensors.count": { value: tensors, type: V.INT32 } });
const moe = { "general.architecture": string("qwen3moe"), "general.name": string("tiny MoE"),
	"qwen3moe.block_count": number(2), "qwen3moe.expert_count": number(4),
	"qwen3moe.expert_used_count": number(2) };
const every = { "x.u8": { value: 1, type: V.UINT8 }, "x.i8": { value: -1, type: V.INT8 },
	"x.u16": { value: 2, type: V.UINT16 }, "x.i16": { value: -2, type: V.INT16 },
	"x.i32": { value: -3, type: V.INT32 }, "x.f32": { value: 0.5, type: V.FLOAT32 },
	"x.bool": { value: true, type: V.BOOL }, "x.u64": { value: 5n, type: V.UINT64 },
	"x.i64": { value: -5n, type: V.INT64 }, "x.f64": { value: 0.25, type: V.FLOAT64 },
	"x.words": { value: ["a", "bc", ""], type: V.ARRAY, subType: V.STRING },
	"x.numbers": { value: [1, 2, 3], type: V.ARRAY, subType: V.INT32 } };
const layer = (n) => [[`blk.${n}.attn_q.weight`, "Q4_K", [256, 8]],
	[`blk.${n}.attn_norm.weight`, "F32", [256]], [`blk.${n}.ffn_gate_inp.weight`, "F32", [256, 4]],
	[`blk.${n}.ffn_gate_exps.weight`, "Q4_K", [256, 3, 4]],
	[`blk.${n}.ffn_up_exps.weight`, "Q8_0", [256, 3, 4]],
	[`blk.${n}.ffn_down_exps.weight`, "MXFP4", [32, 5, 4]]];

build("moe.gguf", { keys: { ...moe, ...every }, tensors: [["token_embd.weight", "F16", [256, 7]],
	["output_norm.weight", "F32", [256]], ...layer(0), ...layer(1), ["output.weight", "Q6_K", [256, 7]]] });
build("old.gguf", { version: 2, alignment: 64, keys: { "general.alignment": number(64),
	"general.architecture": string("llama"), "llama.block_count": number(1) },
	tensors: [["token_embd.weight", "BF16", [4, 3]], ["blk.0.ffn_up.weight", "F32", [4, 4]]] });
build("split-00001-of-00002.gguf", { keys: { ...moe, ...split(0, 2, 7) },
	tensors: [["token_embd.weight", "F16", [256, 2]]] });
build("split-00002-of-00002.gguf", { keys: split(1, 2, 7), tensors: layer(0) });
for (const file of ["moe.gguf", "old.gguf", "split-00001-of-00002.gguf", "split-00002-of-00002.gguf"])
	await read(file);
