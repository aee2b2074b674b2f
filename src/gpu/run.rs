//! Runs one test in one environment: iterations in batches, counted on the device.

use std::time::{Duration, Instant};

use super::device::{Device, refused};
use super::environment::{Environment, Iteration, MAX_WORKGROUPS, Scheme, WORKGROUP};
use super::layout::Layout;
use super::oracle::{Class, Oracle};
use super::program::Program;
use super::spirv;
use super::variant::Variant;
use super::wgsl::{self, Memory, Params, Shape};
use litmake_base::failure::Result;
use litmake_devices::random::Rng;
use litmake_stats::results::Counts;

/// Uniform buffers are bound at multiples of this.
const ALIGN: u64 = 256;
/// Submissions grow until they take this long, so that their cost does not show and the watchdogs
/// of drivers do not bark.
const ENOUGH: Duration = Duration::from_millis(60);
/// At most so many iterations a submission.
pub const MAX_BATCH: u32 = 128;
/// How often a thread looks before it gives up waiting for the others.
const SPIN_LIMIT: u32 = 1024;

/// How many threads of a workgroup stress memory where they run one after the other: a second one
/// adds nothing to what others see, and all of them would take nearly all of the time.
const STRESS_ON_CPUS: u32 = 1;

/// One measurement of a test.
#[derive(Clone, Debug)]
pub struct Request {
    /// The environment.
    pub env: Environment,
    /// The most iterations.
    pub iterations: u32,
    /// Ends the measurement after this time.
    pub time: Option<Duration>,
    /// The iterations in a submission; 0: as many as take about 60 ms.
    pub batch: u32,
    /// The seed of all random choices.
    pub seed: String,
    /// Use the spin barrier and all of the stress even on devices whose workgroups do not run at the same
    /// time.
    pub spin_anywhere: bool,
}

/// The result of a measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The count of each outcome; the last counts values that no execution gives.
    pub outcomes: Vec<u64>,
    /// How many iterations ran.
    pub iterations: u32,
    /// How many instances ran.
    pub instances: u64,
    /// How long it took, by the host's clock.
    pub seconds: f64,
    /// The time of the device's work, as the device measured it.
    pub device_seconds: Option<f64>,
    /// How many times the device was given work.
    pub(crate) submissions: u32,
}

/// A test ready to run on one device.
pub struct Loaded {
    /// Its program.
    pub(crate) program: Program,
    /// Its possible outcomes.
    pub(crate) oracle: Oracle,
    /// How it is laid out in code.
    pub(crate) shape: Shape,
    bindings: wgpu::BindGroupLayout,
    prepare: wgpu::ComputePipeline,
    test: wgpu::ComputePipeline,
    count: wgpu::ComputePipeline,
}

/// Buffers that measurements share, as large as the largest needed so far.
#[derive(Default)]
pub struct Buffers {
    memory: Option<wgpu::Buffer>,
    results: Option<wgpu::Buffer>,
    shuffled: Option<wgpu::Buffer>,
    scratch_words: Option<wgpu::Buffer>,
    scratch: Option<wgpu::Buffer>,
    arrivals: Option<wgpu::Buffer>,
    counters: Option<wgpu::Buffer>,
    params: Option<wgpu::Buffer>,
    back: Option<wgpu::Buffer>,
}

fn grown<'b>(
    device: &Device,
    slot: &'b mut Option<wgpu::Buffer>,
    bytes: u64,
    usage: wgpu::BufferUsages,
) -> Result<&'b wgpu::Buffer> {
    if slot.as_ref().is_none_or(|b| b.size() < bytes) {
        *slot = Some(device.buffer(bytes, usage)?);
    }
    slot.as_ref().ok_or_else(|| refused("a buffer could not be made"))
}

/// Which bindings only read.
const READ_ONLY: [u32; 2] = [2, 3];
const PARAMS: u32 = 7;

impl Loaded {
    /// Compiles a test for a device; an error where the device does not take it.
    pub(crate) fn new(
        device: &Device,
        program: Program,
        oracle: Oracle,
        shape: Shape,
        variant: Variant,
    ) -> Result<Loaded> {
        shape.check(&program, variant).map_err(refused)?;
        device.takes(variant, shape.scope)?;
        let text = wgsl::module(&program, &oracle, &shape);
        let module = device.shader(&text, variant)?;
        // What prepares and counts is the same whoever writes the test.
        let test = match variant.has_words() {
            true => &device.words(&spirv::module(&program, &shape, variant), "test")?,
            false => &module,
        };
        let entry = |binding: u32| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: match binding {
                    PARAMS => wgpu::BufferBindingType::Uniform,
                    b => wgpu::BufferBindingType::Storage { read_only: READ_ONLY.contains(&b) },
                },
                has_dynamic_offset: binding == PARAMS,
                min_binding_size: None,
            },
            count: None,
        };
        let entries: Vec<_> = (0..=PARAMS).map(entry).collect();
        let bindings = device.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &entries,
        });
        let layout = device.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        device.check()?;
        Ok(Loaded {
            prepare: device.pipeline(&layout, &module, "prepare")?,
            test: device.pipeline(&layout, test, "test")?,
            count: device.pipeline(&layout, &module, "count")?,
            bindings,
            program,
            oracle,
            shape,
        })
    }

    /// Runs the test in an environment.
    pub fn measure(
        &self,
        device: &Device,
        buffers: &mut Buffers,
        request: &Request,
    ) -> Result<Measured> {
        let layout = Layout::new(&self.program, &self.shape, &request.env).map_err(refused)?;
        let spins = request.env.barrier_pct > 0 && (request.spin_anywhere || !device.info.is_cpu());
        let target = if spins {
            let resident = device.resident(layout.testing)?;
            layout.barrier_target(&self.shape, resident)
        } else {
            0
        };
        let run = Run::new(self, device, buffers, request, &layout, spins, target)?;
        run.go()
    }
}

/// One measurement under way.
struct Run<'a> {
    loaded: &'a Loaded,
    device: &'a Device,
    request: &'a Request,
    layout: &'a Layout,
    buffers: &'a Buffers,
    group: wgpu::BindGroup,
    queries: Option<(wgpu::QuerySet, wgpu::Buffer, wgpu::Buffer)>,
    rng: Rng,
    spins: bool,
    target: u32,
}

/// The buffer behind a slot that was filled before.
fn there(slot: &Option<wgpu::Buffer>) -> Result<&wgpu::Buffer> {
    slot.as_ref().ok_or_else(|| refused("a buffer is missing"))
}

impl<'a> Run<'a> {
    fn new(
        loaded: &'a Loaded,
        device: &'a Device,
        buffers: &'a mut Buffers,
        request: &'a Request,
        layout: &'a Layout,
        spins: bool,
        target: u32,
    ) -> Result<Run<'a>> {
        use wgpu::BufferUsages as Usage;
        let words = |n: u64| n.max(4) * 4;
        let rows = wgsl::rows(&loaded.program, &loaded.shape) as u64;
        let memory =
            if loaded.shape.memory == Memory::Workgroup { 1 } else { u64::from(layout.words) };
        let stored = words(rows * u64::from(layout.instances));
        let groups = words(u64::from(MAX_BATCH * MAX_WORKGROUPS));
        let counters = words(loaded.oracle.classes.len() as u64 + 1);
        let limit = device.device.limits().max_storage_buffer_binding_size;
        if words(memory).max(stored) > limit {
            return Err(refused(format!(
                "it needs buffers of {} bytes, and {} binds at most {limit}",
                words(memory).max(stored),
                device.info.name
            )));
        }
        let storage = Usage::STORAGE | Usage::COPY_DST;
        grown(device, &mut buffers.memory, words(memory), storage)?;
        grown(device, &mut buffers.results, stored, storage)?;
        grown(device, &mut buffers.shuffled, groups, storage)?;
        grown(device, &mut buffers.scratch_words, groups, storage)?;
        grown(
            device,
            &mut buffers.scratch,
            words(u64::from(request.env.scratch_memory_size)),
            storage,
        )?;
        grown(device, &mut buffers.arrivals, words(u64::from(MAX_BATCH)), storage)?;
        grown(device, &mut buffers.counters, counters, storage | Usage::COPY_SRC)?;
        grown(
            device,
            &mut buffers.params,
            ALIGN * u64::from(MAX_BATCH),
            Usage::UNIFORM | Usage::COPY_DST,
        )?;
        grown(device, &mut buffers.back, counters, Usage::MAP_READ | Usage::COPY_DST)?;
        let buffers: &'a Buffers = buffers;
        let entry =
            |binding: u32, slot: &'a Option<wgpu::Buffer>| -> Result<wgpu::BindGroupEntry<'a>> {
                let buffer = there(slot)?;
                let size = if binding == PARAMS {
                    std::num::NonZeroU64::new(Params::BYTES as u64)
                } else {
                    None
                };
                let resource =
                    wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset: 0, size });
                Ok(wgpu::BindGroupEntry { binding, resource })
            };
        let entries = [
            entry(0, &buffers.memory)?,
            entry(1, &buffers.results)?,
            entry(2, &buffers.shuffled)?,
            entry(3, &buffers.scratch_words)?,
            entry(4, &buffers.scratch)?,
            entry(5, &buffers.arrivals)?,
            entry(6, &buffers.counters)?,
            entry(PARAMS, &buffers.params)?,
        ];
        let group = device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &loaded.bindings,
            entries: &entries,
        });
        device.check()?;
        let queries = if device.timestamps {
            let set = device.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            });
            let resolved = device.buffer(16, Usage::QUERY_RESOLVE | Usage::COPY_SRC)?;
            let back = device.buffer(16, Usage::MAP_READ | Usage::COPY_DST)?;
            Some((set, resolved, back))
        } else {
            None
        };
        let rng = Rng::of(&request.seed, &[]);
        Ok(Run { loaded, device, request, layout, buffers, group, queries, rng, spins, target })
    }

    fn go(mut self) -> Result<Measured> {
        let outcomes = self.loaded.oracle.classes.len() + 1;
        let mut out = Measured { outcomes: vec![0; outcomes], ..Measured::default() };
        // Counters of a submission hold 32 bits.
        let most = (u64::from(u32::MAX) / u64::from(self.layout.instances.max(1)))
            .clamp(1, u64::from(MAX_BATCH)) as u32;
        let mut batch = if self.request.batch == 0 { 1 } else { self.request.batch.min(most) };
        self.begin()?;
        let start = Instant::now();
        while out.iterations < self.request.iterations {
            let n = batch.min(self.request.iterations - out.iterations);
            let before = Instant::now();
            let device_seconds = self.submit(n, &mut out.outcomes)?;
            let took = before.elapsed();
            out.iterations += n;
            out.submissions += 1;
            if let Some(s) = device_seconds {
                *out.device_seconds.get_or_insert(0.0) += s;
            }
            if self.request.time.is_some_and(|t| start.elapsed() >= t) {
                break;
            }
            if self.request.batch == 0 && took * 2 < ENOUGH {
                batch = (batch * 2).min(most);
            } else if self.request.batch == 0 && took > ENOUGH * 4 {
                batch = (batch / 2).max(1);
            }
        }
        out.seconds = start.elapsed().as_secs_f64();
        out.instances = u64::from(self.layout.instances) * u64::from(out.iterations);
        Ok(out)
    }

    /// Brings memory into its initial state.
    fn begin(&self) -> Result<()> {
        let params = Params { single: 0, ..self.layout.params };
        self.device.queue.write_buffer(there(&self.buffers.params)?, 0, &params.bytes());
        let mut encoder = self.encoder();
        encoder.clear_buffer(there(&self.buffers.memory)?, 0, None);
        encoder.clear_buffer(there(&self.buffers.scratch)?, 0, None);
        encoder.clear_buffer(there(&self.buffers.counters)?, 0, None);
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.loaded.prepare);
            pass.set_bind_group(0, &self.group, &[0]);
            pass.dispatch_workgroups(self.layout.instances.div_ceil(WORKGROUP), 1, 1);
        }
        self.device.finish(encoder)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Some iterations in one submission; adds to the counts, and gives the device's time.
    fn submit(&mut self, n: u32, counts: &mut [u64]) -> Result<Option<f64>> {
        let (mut shuffled, mut scratch, mut params, mut groups) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for slot in 0..n {
            let it = Iteration::draw(&self.request.env, &mut self.rng);
            let p = self.params(slot, shuffled.len() as u32 / 4, &it);
            shuffled.extend(it.shuffled.iter().flat_map(|w| w.to_le_bytes()));
            scratch.extend(it.scratch.iter().flat_map(|w| w.to_le_bytes()));
            params.extend_from_slice(&p.bytes());
            params.resize((slot as usize + 1) * ALIGN as usize, 0);
            groups.push(it.shuffled.len() as u32);
        }
        let queue = &self.device.queue;
        queue.write_buffer(there(&self.buffers.shuffled)?, 0, &shuffled);
        queue.write_buffer(there(&self.buffers.scratch_words)?, 0, &scratch);
        queue.write_buffer(there(&self.buffers.params)?, 0, &params);
        let counters = there(&self.buffers.counters)?;
        let back = there(&self.buffers.back)?;
        let bytes = (self.loaded.oracle.classes.len() as u64 + 1) * 4;
        let mut encoder = self.encoder();
        encoder.clear_buffer(there(&self.buffers.arrivals)?, 0, None);
        encoder.clear_buffer(counters, 0, None);
        {
            let timestamp_writes =
                self.queries.as_ref().map(|(set, ..)| wgpu::ComputePassTimestampWrites {
                    query_set: set,
                    beginning_of_pass_write_index: Some(0),
                    end_of_pass_write_index: Some(1),
                });
            let desc = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
            let mut pass = encoder.begin_compute_pass(&desc);
            for (slot, workgroups) in groups.iter().enumerate() {
                pass.set_bind_group(0, &self.group, &[slot as u32 * ALIGN as u32]);
                pass.set_pipeline(&self.loaded.test);
                pass.dispatch_workgroups(*workgroups, 1, 1);
                pass.set_pipeline(&self.loaded.count);
                pass.dispatch_workgroups(self.layout.instances.div_ceil(WORKGROUP), 1, 1);
            }
        }
        encoder.copy_buffer_to_buffer(counters, 0, back, 0, bytes);
        if let Some((set, resolved, times)) = &self.queries {
            encoder.resolve_query_set(set, 0..2, resolved, 0);
            encoder.copy_buffer_to_buffer(resolved, 0, times, 0, 16);
        }
        self.device.finish(encoder)?;
        let read = self.device.read(back)?;
        for (count, word) in counts.iter_mut().zip(read.chunks_exact(4)) {
            *count += word.try_into().map_or(0, |w| u64::from(u32::from_le_bytes(w)));
        }
        let Some((_, _, times)) = &self.queries else { return Ok(None) };
        let ticks = self.device.read(times)?;
        let tick = |i: usize| {
            ticks.get(i..i + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
        };
        let period = f64::from(self.device.queue.get_timestamp_period());
        Ok(Some(tick(8).saturating_sub(tick(0)) as f64 * period * 1e-9))
    }

    fn params(&self, slot: u32, base: u32, it: &Iteration) -> Params {
        let all = self.request.spin_anywhere || !self.device.info.is_cpu();
        let settings = Settings {
            spins: self.spins,
            target: self.target,
            stressing: if all { WORKGROUP } else { STRESS_ON_CPUS },
        };
        let shape = &self.loaded.shape;
        settings.params(&self.request.env, shape, self.layout, (slot, base), it)
    }
}

/// The parameters of an iteration that the device decides.
pub struct Settings {
    /// Whether threads wait for each other.
    pub spins: bool,
    /// The number of threads that wait for each other.
    pub target: u32,
    /// How many threads of a workgroup stress memory.
    pub stressing: u32,
}

impl Settings {
    /// The parameters of an iteration, which has a place among the arrivals and one among the roles.
    pub fn params(
        &self,
        env: &Environment,
        shape: &Shape,
        layout: &Layout,
        (slot, base): (u32, u32),
        it: &Iteration,
    ) -> Params {
        let single = match shape.scheme {
            Scheme::Parallel => 0,
            // Where the workgroup of the first thread stands; never past the end.
            Scheme::Single => {
                let first = it.shuffled.first().copied().unwrap_or(0);
                first * WORKGROUP % (WORKGROUP * env.testing_workgroups)
            }
        };
        let stressing = |stresses: bool| if stresses { self.stressing } else { 0 };
        Params {
            base,
            slot,
            barrier: u32::from(it.barrier && self.spins),
            barrier_target: self.target,
            spin_limit: SPIN_LIMIT,
            mem_stress: stressing(it.mem_stress),
            mem_iterations: env.mem_stress_iterations,
            mem_pattern: it.mem_pattern,
            pre_stress: stressing(it.pre_stress),
            pre_iterations: env.pre_stress_iterations,
            pre_pattern: it.pre_pattern,
            single,
            ..layout.params
        }
    }
}

impl Measured {
    /// How many instances showed what no execution allows.
    pub fn violations(&self, oracle: &Oracle) -> u64 {
        let forbidden =
            oracle.classes.iter().zip(&self.outcomes).filter(|(c, _)| **c == Class::Forbidden);
        forbidden.map(|(_, n)| n).sum::<u64>() + self.outcomes.last().copied().unwrap_or(0)
    }

    /// How many outcomes were counted, one for each instance.
    pub fn total(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// The counts as the artifact has them. What a mutant looks for is its target; what a
    /// conformance test looks for is every violation.
    pub fn counts(&self, oracle: &Oracle, mutant: bool) -> Counts {
        let mut out = Counts { seconds: self.seconds, ..Counts::default() };
        let known = oracle.classes.iter().zip(&oracle.target).zip(&self.outcomes);
        for ((class, target), n) in known {
            let looked_for = if mutant { *target } else { *class == Class::Forbidden };
            match class {
                _ if looked_for => out.weak += n,
                Class::Sequential => out.seq += n,
                _ => out.interleaved += n,
            }
        }
        let unknown = self.outcomes.last().copied().unwrap_or(0);
        if mutant {
            out.interleaved += unknown
        } else {
            out.weak += unknown
        }
        out
    }
}
