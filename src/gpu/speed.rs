//! Measures the speed of a device by kernels that only copy bytes, compute, or do atomic operations.
//! Estimates from the cost of an instance how much of that speed a test reached.
//!
//! It does not know how tests are chosen.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::code::{self, Driver};
use super::device::Device;
use super::environment::{Scheme, WORKGROUP};
use super::oracle::Oracle;
use super::program::{Op, Program};
use super::variant::{Code, Variant};
use super::wgsl::{self, Memory, Shape};
use litmake_base::failure::Result;

/// The work that a device does in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Bytes that a copy in its memory reads and writes.
    pub bytes: f64,
    /// Operations on numbers of 32 bits.
    pub operations: f64,
    /// Atomic additions to words of their own.
    pub atomics: f64,
}

/// The least cost of one instance of a test, all passes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes of device memory that it reads and writes, counting only the words that it asks for.
    pub bytes: u64,
    /// Instructions of SPIR-V in the pass that runs it, without its stress.
    pub operations: u64,
    /// Atomic operations on device memory.
    pub atomics: u64,
}

/// How much of a device's speed a test reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    /// Instances a second of the device's time, where it tells, or of all.
    pub(crate) instances: f64,
    /// The share of the time in which the device was at work.
    pub(crate) busy: Option<f64>,
    /// The share of the bytes that the device copies in a second.
    pub(crate) bytes: f64,
    /// The share of its operations on numbers.
    pub(crate) operations: f64,
    /// The share of its atomic operations.
    pub(crate) atomics: f64,
}

/// Words of each half of the copy.
const COPY: u32 = 1 << 24;
const ROUNDS: u32 = 256;
/// The least time for which a kernel is run.
const ENOUGH: Duration = Duration::from_millis(60);

const KERNELS: &str = "
@group(0) @binding(0) var<storage, read_write> a: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> b: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> c: array<atomic<u32>>;

@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
  b[id.x] = a[id.x];
}

@compute @workgroup_size(256)
fn compute(@builtin(global_invocation_id) id: vec3<u32>) {
  var x = id.x;
  var y = id.x + 1u;
  var z = id.x + 2u;
  var w = id.x + 3u;
  for (var i = 0u; i < ROUNDSu; i++) {
    x = x * 1664525u + y;
    y = y * 1664525u + z;
    z = z * 1664525u + w;
    w = w * 1664525u + x;
  }
  if ((x ^ y ^ z ^ w) == 1u) { b[id.x] = vec4<u32>(x, y, z, w); }
}

@compute @workgroup_size(256)
fn atomics(@builtin(global_invocation_id) id: vec3<u32>) {
  for (var i = 0u; i < 16u; i++) { atomicAdd(&c[id.x], 1u); }
}
";

impl Speed {
    /// Measures a device; takes some tenths of a second.
    pub fn measure(device: &Device) -> Result<Speed> {
        let limit = device.device.limits().max_storage_buffer_binding_size / 4;
        let words = u64::from(COPY).min(limit).next_multiple_of(1024) as u32;
        let text = KERNELS.replace("ROUNDS", &ROUNDS.to_string());
        let plain = Variant { bounds: false, code: Code::Naga { loops: false } };
        let module = device.shader(&text, plain)?;
        let buffers = (0..3)
            .map(|_| device.buffer(u64::from(words) * 4, wgpu::BufferUsages::STORAGE))
            .collect::<Result<Vec<_>>>()?;
        let entry = |binding: u32| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: false },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        };
        let bindings = device.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &[entry(0), entry(1), entry(2)],
        });
        let layout = device.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        let entries: Vec<_> = buffers
            .iter()
            .zip(0..)
            .map(|(buffer, binding)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &bindings,
            entries: &entries,
        });
        // Four words a thread; the others take as many threads.
        let groups = words / 4 / WORKGROUP;
        let a_second = |entry: &str| -> Result<f64> {
            let pipeline = device.pipeline(&layout, &module, entry)?;
            let mut times = 1;
            loop {
                let mut encoder = device
                    .device
                    .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                {
                    let mut pass =
                        encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                    pass.set_pipeline(&pipeline);
                    pass.set_bind_group(0, &group, &[]);
                    for _ in 0..times {
                        pass.dispatch_workgroups(groups, 1, 1);
                    }
                }
                let start = Instant::now();
                device.finish(encoder)?;
                let took = start.elapsed();
                // The first one also pays for what is done once.
                if times > 1 && took >= ENOUGH || times >= 1 << 16 {
                    return Ok(f64::from(groups * WORKGROUP) * f64::from(times)
                        / took.as_secs_f64().max(1e-9));
                }
                times *= 2;
            }
        };
        Ok(Speed {
            bytes: a_second("copy")? * 32.0,
            // Four times a product and a sum.
            operations: a_second("compute")? * f64::from(ROUNDS) * 8.0,
            atomics: a_second("atomics")? * 16.0,
        })
    }

    /// For people.
    pub fn line(&self) -> String {
        format!(
            "at best: a copy moves {:.3e} bytes/s, {:.3e} operations/s, {:.3e} atomic operations/s",
            self.bytes, self.operations, self.atomics
        )
    }

    /// As records keep it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "bytesPerSecond": self.bytes.round(),
            "operationsPerSecond": self.operations.round(),
            "atomicsPerSecond": self.atomics.round(),
        })
    }
}

impl Cost {
    /// The cost of a test that is laid out so and compiled so.
    pub(crate) fn new(
        program: &Program,
        oracle: &Oracle,
        shape: &Shape,
        variant: Variant,
        driver: Driver,
    ) -> Result<Cost> {
        let in_storage = shape.memory == Memory::Storage;
        let accesses = program.threads.iter().flatten().filter(|op| op.location().is_some());
        let (mut bytes, mut atomics) = (0, 0);
        for op in accesses.filter(|_| in_storage) {
            atomics += 1;
            bytes += if matches!(op, Op::Rmw { .. }) { 8 } else { 4 };
        }
        // Results are written, read and reset; so are locations that stay in memory.
        let rows = wgsl::rows(program, shape) as u64;
        bytes += rows * 12;
        if in_storage {
            let locations = program.locations.len() as u64;
            bytes += locations * 8;
            atomics += locations * 2;
        }
        let words = code::test(program, oracle, shape, variant, driver)?;
        Ok(Cost { bytes, atomics, operations: instructions(&words) })
    }
}

/// How many instructions of a module compute: those in functions, without labels, branches, and structure.
fn instructions(words: &[u32]) -> u64 {
    const FUNCTION: u32 = 54;
    const STRUCTURE: [u32; 9] = [54, 55, 56, 59, 245, 246, 247, 248, 249];
    let (mut at, mut inside, mut count) = (5, false, 0);
    while let Some(first) = words.get(at) {
        let (opcode, length) = (first & 0xffff, (first >> 16) as usize);
        inside |= opcode == FUNCTION;
        if inside && !STRUCTURE.contains(&opcode) {
            count += 1;
        }
        at += length.max(1);
    }
    count
}

impl Reached {
    /// By so many instances in so many seconds, of which the device was at work for some.
    pub fn new(
        speed: &Speed,
        cost: &Cost,
        instances: u64,
        seconds: f64,
        device_seconds: Option<f64>,
    ) -> Reached {
        let time = device_seconds.filter(|s| *s > 0.0).unwrap_or(seconds).max(1e-9);
        let rate = instances as f64 / time;
        Reached {
            instances: rate,
            busy: device_seconds.map(|s| s / seconds.max(1e-9)),
            bytes: rate * cost.bytes as f64 / speed.bytes,
            operations: rate * cost.operations as f64 / speed.operations,
            atomics: rate * cost.atomics as f64 / speed.atomics,
        }
    }

    /// The limit on the speed of tests, as far as the shares tell.
    pub fn limit(&self) -> &'static str {
        let shares =
            [(self.bytes, "memory"), (self.operations, "operations"), (self.atomics, "atomics")];
        let (most, name) = shares.into_iter().fold((0.0, ""), |a, b| if b.0 > a.0 { b } else { a });
        match () {
            () if self.busy.is_some_and(|b| b < 0.5) => "the host, which keeps the device waiting",
            () if most < 0.5 => "latency: no unit of the device is used by half",
            () => name,
        }
    }

    /// As records keep it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "instancesPerSecond": self.instances.round(),
            "busy": self.busy,
            "memory": self.bytes,
            "operations": self.operations,
            "atomics": self.atomics,
            "limit": self.limit(),
        })
    }

    /// As records keep it, with what the device does at best.
    pub fn with(&self, best: &Speed) -> Value {
        json!({ "best": best.json(), "reached": self.json() })
    }

    /// For people.
    pub fn line(&self) -> String {
        let percent = |share: f64| format!("{:.3} %", share * 100.0);
        let busy = self.busy.map_or(String::new(), |b| format!(", at work {}", percent(b)));
        format!(
            "{:.3e} instances/s{busy}; of a copy's memory {}, operations {}, atomics {}; limited by {}",
            self.instances,
            percent(self.bytes),
            percent(self.operations),
            percent(self.atomics),
            self.limit()
        )
    }
}

/// Whether an estimate can be made: of a single instance, nearly all time goes elsewhere.
pub fn can_tell(shape: &Shape) -> bool {
    shape.scheme == Scheme::Parallel
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEED: Speed = Speed { bytes: 1000.0, operations: 1000.0, atomics: 100.0 };

    #[test]
    fn shares_are_of_what_the_device_does_and_the_largest_limits() {
        let cost = Cost { bytes: 10, operations: 20, atomics: 9 };
        let reached = Reached::new(&SPEED, &cost, 20, 4.0, Some(2.0));
        assert_eq!(
            (reached.instances, reached.bytes, reached.operations, reached.atomics),
            (10.0, 0.1, 0.2, 0.9)
        );
        assert_eq!((reached.busy, reached.limit()), (Some(0.5), "atomics"));
        assert!(Reached::new(&SPEED, &cost, 20, 8.0, Some(2.0)).limit().starts_with("the host"));
        assert!(Reached::new(&SPEED, &cost, 2, 2.0, None).limit().starts_with("latency"));
    }

    #[test]
    fn instructions_are_those_of_functions_without_structure() {
        let header = [0x0723_0203, 0x0001_0300, 0, 9, 0];
        // A constant outside; a function with a label, an addition, a return.
        let body = [
            (4 << 16) | 43,
            1,
            2,
            3,
            (5 << 16) | 54,
            1,
            4,
            0,
            5,
            (2 << 16) | 248,
            6,
            (5 << 16) | 128,
            1,
            7,
            2,
            2,
            (1 << 16) | 253,
            (1 << 16) | 56,
        ];
        let words: Vec<u32> = header.into_iter().chain(body).collect();
        assert_eq!(instructions(&words), 2);
    }
}
