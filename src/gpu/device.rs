//! Finding a GPU and talking to it: adapters, pipelines, submissions under a watchdog.
//!
//! It does not know what tests are. If a device is lost or hangs, the current work fails; the caller opens
//! a new one and goes on.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ash::vk;
use serde_json::{Value, json};

use super::code::Driver;
use super::variant::{Code, MemoryModel, Scope, Variant};
use litmake_base::failure::{Failure, FailureKind, Fault, Result};

pub(super) fn missing(message: String) -> Failure {
    Failure::broken(Fault::Missing, message)
}

/// The failure of a device that was lost or hangs: it cannot be used any more.
fn lost(message: String) -> Failure {
    Failure::broken(Fault::Lost, message)
}

/// The failure of work that a device refused. The device may have refused it for a reason that passes.
pub(super) fn refused(message: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Refused, message)
}

/// A device as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// Its name, as its driver has it.
    pub name: String,
    /// The number of its maker among PCI's vendors.
    pub vendor: u32,
    /// The number that its maker gave it.
    pub device: u32,
    /// Its kind in lower case: `discretegpu`, `integratedgpu`, `virtualgpu`, `cpu` or `other`.
    pub kind: String,
    /// The name of its driver.
    pub driver: String,
    /// The driver's text about its version.
    pub driver_info: String,
    /// The smallest size of its subgroups.
    pub subgroup: u32,
}

impl Info {
    fn of(adapter: &wgpu::Adapter) -> Info {
        let i = adapter.get_info();
        Info {
            kind: format!("{:?}", i.device_type).to_lowercase(),
            name: i.name,
            vendor: i.vendor,
            device: i.device,
            driver: i.driver,
            driver_info: i.driver_info,
            subgroup: i.subgroup_min_size,
        }
    }

    /// Whether it is a device in software.
    pub(crate) fn is_cpu(&self) -> bool {
        self.kind == "cpu"
    }

    /// The description in the form of result files.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "vendor": self.vendor,
            "device": self.device,
            "type": self.kind,
            "driver": self.driver,
            "driverInfo": self.driver_info,
        })
    }
}

impl std::fmt::Display for Info {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}; {} {})", self.name, self.kind, self.driver, self.driver_info)
    }
}

/// Waits for a future that is ready at once or after other threads have done their part.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn found() -> Vec<wgpu::Adapter> {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::VULKAN;
    let instance = wgpu::Instance::new(desc);
    wait(instance.enumerate_adapters(wgpu::Backends::VULKAN))
}

/// The devices here, best first: real ones before those in software.
fn ranked() -> Vec<(Info, wgpu::Adapter)> {
    let mut all: Vec<_> = found().into_iter().map(|a| (Info::of(&a), a)).collect();
    let order = ["discretegpu", "integratedgpu", "virtualgpu", "other", "cpu"];
    all.sort_by_key(|(i, _)| order.iter().position(|k| *k == i.kind).unwrap_or(order.len()));
    all
}

/// The devices here, real ones before those in software.
pub fn list() -> Vec<Info> {
    ranked().into_iter().map(|(i, _)| i).collect()
}

/// Describes a device without opening it.
pub fn choose(name: Option<&str>) -> Result<Info> {
    pick(name).map(|(info, _)| info)
}

fn pick(name: Option<&str>) -> Result<(Info, wgpu::Adapter)> {
    let mut all = ranked();
    if all.is_empty() {
        return Err(missing(
            "there is no Vulkan device here; install the driver of the GPU, or mesa-vulkan-drivers for one in software".into(),
        ));
    }
    let fits = |i: &Info| {
        name.is_none_or(|n| i.name.to_lowercase().contains(&n.to_lowercase()) || i.kind.contains(n))
    };
    match all.iter().position(|(i, _)| fits(i)) {
        Some(at) => Ok(all.swap_remove(at)),
        None => {
            let names: Vec<String> = all.iter().map(|(i, _)| i.to_string()).collect();
            Err(missing(format!(
                "no device fits `{}`; there are: {}",
                name.unwrap_or_default(),
                names.join(", ")
            )))
        }
    }
}

/// Opens a device with the Vulkan memory model. wgpu asks for that feature only together with
/// cooperative matrices; what it would ask for then, without their extension, is that feature and
/// nothing else.
fn with_memory_model(
    adapter: &wgpu::Adapter,
    desc: &wgpu::DeviceDescriptor,
) -> std::result::Result<(wgpu::Device, wgpu::Queue), String> {
    // SAFETY: the adapter says that it has what is turned on, and nothing is turned off.
    unsafe {
        let raw = adapter.as_hal::<wgpu::hal::api::Vulkan>().ok_or("it is no Vulkan device")?;
        let more = desc.required_features | wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX;
        let turn_on = |args: wgpu::hal::vulkan::CreateDeviceCallbackArgs| {
            *args.device_features = raw.physical_device_features(args.extensions, more);
        };
        let open = raw
            .open_with_callback(
                desc.required_features,
                &desc.required_limits,
                &desc.memory_hints,
                Some(Box::new(turn_on)),
            )
            .map_err(|e| e.to_string())?;
        adapter.create_device_from_hal(open, desc).map_err(|e| e.to_string())
    }
}

/// A device that is open.
pub struct Device {
    /// Its own description.
    pub info: Info,
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) timestamps: bool,
    passes: Passes,
    driver: Driver,
    /// How long one submission may take.
    pub(crate) timeout: Duration,
    said: Arc<Mutex<Said>>,
    resident: Mutex<Option<u32>>,
}

/// The properties of a device's driver that decide how naga writes code for it, found out as wgpu does.
fn driver_of(adapter: &wgpu::Adapter) -> Driver {
    let mut out = Driver::default();
    // SAFETY: the adapter is asked about, and nothing of it is changed or kept.
    let Some(raw) = (unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }) else { return out };
    let capabilities = raw.physical_device_capabilities();
    let version = capabilities.properties().api_version;
    out.version = match version {
        v if v >= vk::API_VERSION_1_3 => (1, 6),
        v if v >= vk::API_VERSION_1_2 => (1, 5),
        v if v >= vk::API_VERSION_1_1 => (1, 3),
        _ => (1, 0),
    };
    let mut robust = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
    let mut zeroes = vk::PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures::default();
    let mut features = vk::PhysicalDeviceFeatures2::default();
    let is_robust = capabilities.supports_extension(vk::EXT_ROBUSTNESS2_NAME);
    if is_robust {
        features = features.push_next(&mut robust);
    }
    if version >= vk::API_VERSION_1_3 {
        features = features.push_next(&mut zeroes);
    }
    if version >= vk::API_VERSION_1_1 {
        let instance = raw.shared_instance().raw_instance();
        // SAFETY: the physical device is one of the instance, and as new as the question.
        unsafe {
            instance.get_physical_device_features2(raw.raw_physical_device(), &mut features);
        }
    }
    out.robust_buffers = robust.robust_buffer_access2 == vk::TRUE;
    out.zeroes_workgroups = zeroes.shader_zero_initialize_workgroup_memory == vk::TRUE;
    out
}

/// The SPIR-V that a device takes besides naga's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Passes {
    /// Whether it takes any.
    words: bool,
    /// Whether it may declare the Vulkan memory model.
    model: bool,
    /// Whether that model has the scope of the device.
    device_scope: bool,
}

impl Passes {
    fn of(adapter: &wgpu::Adapter) -> Passes {
        let mut out = Passes::default();
        if !adapter.features().contains(wgpu::Features::PASSTHROUGH_SHADERS) {
            return out;
        }
        // SAFETY: the adapter is asked about, and nothing of it is changed or kept.
        let Some(raw) = (unsafe { adapter.as_hal::<wgpu::hal::api::Vulkan>() }) else { return out };
        let version = raw.physical_device_capabilities().properties().api_version;
        out.words = version >= vk::API_VERSION_1_1;
        if version < vk::API_VERSION_1_2 {
            return out;
        }
        let mut model = vk::PhysicalDeviceVulkanMemoryModelFeatures::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut model);
        let instance = raw.shared_instance().raw_instance();
        // SAFETY: the physical device is one of the instance, and as new as the question.
        unsafe {
            instance.get_physical_device_features2(raw.raw_physical_device(), &mut features);
        }
        out.model = model.vulkan_memory_model == vk::TRUE;
        out.device_scope = out.model && model.vulkan_memory_model_device_scope == vk::TRUE;
        out
    }
}

/// Errors that the device reported at no call in particular.
#[derive(Default)]
struct Said {
    lost: Option<String>,
    error: Option<String>,
}

impl Device {
    /// Opens the best device, or the best of those whose name or kind has this in it.
    pub fn open(name: Option<&str>) -> Result<Device> {
        let (info, adapter) = pick(name)?;
        let timestamps = adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        let passes = Passes::of(&adapter);
        let driver = driver_of(&adapter);
        let mut features = wgpu::Features::empty();
        features.set(wgpu::Features::TIMESTAMP_QUERY, timestamps);
        features.set(wgpu::Features::PASSTHROUGH_SHADERS, passes.words);
        let desc = wgpu::DeviceDescriptor {
            label: Some("litmake"),
            required_features: features,
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let opened = match passes.device_scope {
            true => with_memory_model(&adapter, &desc),
            false => wait(adapter.request_device(&desc)).map_err(|e| e.to_string()),
        };
        let (device, queue) =
            opened.map_err(|e| missing(format!("{info} cannot be opened: {e}")))?;
        let said = Arc::new(Mutex::new(Said::default()));
        let (lost, error) = (said.clone(), said.clone());
        device.set_device_lost_callback(move |reason, message| {
            if reason != wgpu::DeviceLostReason::Destroyed {
                let mut said = lost.lock().unwrap_or_else(PoisonError::into_inner);
                said.lost.get_or_insert(format!("the device was lost: {message}"));
            }
        });
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| {
            let mut said = error.lock().unwrap_or_else(PoisonError::into_inner);
            said.error.get_or_insert(e.to_string());
        }));
        Ok(Device {
            info,
            device,
            queue,
            timestamps,
            passes,
            driver,
            timeout: Duration::from_secs(120),
            said,
            resident: Mutex::new(None),
        })
    }

    /// The properties of the driver that decide how naga writes code for it.
    pub fn driver(&self) -> Driver {
        self.driver
    }

    /// The first error that the device has reported since the last check.
    pub(super) fn check(&self) -> Result<()> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let error = said.error.take();
        match (&said.lost, error) {
            // Later errors are of no interest.
            (Some(message), _) => Err(lost(message.clone())),
            (None, Some(message)) => Err(refused(message)),
            (None, None) => Ok(()),
        }
    }

    pub(super) fn shader(&self, text: &str, variant: Variant) -> Result<wgpu::ShaderModule> {
        let desc = wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text.into()),
        };
        let checks = wgpu::ShaderRuntimeChecks {
            bounds_checks: variant.bounds,
            force_loop_bounding: variant.code == Code::Naga { loops: true },
            ..wgpu::ShaderRuntimeChecks::checked()
        };
        // SAFETY: the text is generated here. Its loops count up to a bound that is a parameter,
        // and its addresses are remainders of what the buffers are sized for.
        let module = unsafe { self.device.create_shader_module_trusted(desc, checks) };
        self.check()?;
        Ok(module)
    }

    /// Says why code of a variant cannot run here.
    pub(super) fn takes(&self, variant: Variant, scope: Scope) -> Result<()> {
        let Code::Words(model) = variant.code else { return Ok(()) };
        let no = |what: &str| {
            let name = variant.name();
            Err(refused(format!("{} {what}, which the variant `{name}` needs", self.info.name)))
        };
        match model {
            _ if !self.passes.words => no("takes no SPIR-V of version 1.3 (Vulkan 1.1)"),
            MemoryModel::Glsl450 => Ok(()),
            MemoryModel::Vulkan if !self.passes.model => no("has no `vulkanMemoryModel`"),
            MemoryModel::Vulkan if scope == Scope::Device && !self.passes.device_scope => {
                no("has no `vulkanMemoryModelDeviceScope` (the scope `queue` may do in its place)")
            }
            MemoryModel::Vulkan => Ok(()),
        }
    }

    /// Plays a device without the Vulkan memory model.
    #[cfg(test)]
    pub(super) fn lacks_the_memory_model(&mut self) {
        self.passes = Passes { words: true, ..Passes::default() };
    }

    /// A module of words that go to the driver as they are, with one entry point.
    pub(super) fn words(&self, words: &[u32], entry: &str) -> Result<wgpu::ShaderModule> {
        let entry = wgpu::PassthroughShaderEntryPoint {
            name: entry.into(),
            workgroup_size: (super::environment::WORKGROUP, 1, 1),
        };
        let desc = wgpu::ShaderModuleDescriptorPassthrough {
            entry_points: vec![entry].into(),
            spirv: Some(words.into()),
            ..Default::default()
        };
        // SAFETY: the words are generated here, for what `takes` allows; see `shader`.
        let module = unsafe { self.device.create_shader_module_passthrough(desc) };
        self.check()?;
        Ok(module)
    }

    pub(super) fn pipeline(
        &self,
        layout: &wgpu::PipelineLayout,
        module: &wgpu::ShaderModule,
        entry: &str,
    ) -> Result<wgpu::ComputePipeline> {
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(layout),
            module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        self.check()?;
        Ok(pipeline)
    }

    pub(super) fn buffer(&self, size: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer> {
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: size.max(4).next_multiple_of(4),
            usage,
            mapped_at_creation: false,
        });
        self.check()?;
        Ok(buffer)
    }

    /// Submits work and waits until it is done; one that takes too long is taken as hanging.
    pub(super) fn finish(&self, encoder: wgpu::CommandEncoder) -> Result<()> {
        let index = self.queue.submit([encoder.finish()]);
        self.wait_for(Some(index))?;
        self.check()
    }

    fn wait_for(&self, index: Option<wgpu::SubmissionIndex>) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: index, timeout: Some(self.timeout) };
        match self.device.poll(wait) {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => Err(lost(format!(
                "{} gave no answer for {} s and is taken as hanging",
                self.info.name,
                self.timeout.as_secs_f64()
            ))),
            Err(e) => Err(lost(e.to_string())),
        }
    }

    /// The content of a buffer that can be mapped.
    pub(super) fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>> {
        let mapped = Arc::new(Mutex::new(None));
        let told = mapped.clone();
        buffer.map_async(wgpu::MapMode::Read, .., move |r| {
            *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(r);
        });
        self.wait_for(None)?;
        self.check()?;
        match mapped.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(Ok(())) => {}
            other => return Err(lost(format!("results could not be read: {other:?}"))),
        }
        let bytes = match buffer.get_mapped_range(..) {
            Ok(view) => view.to_vec(),
            Err(e) => return Err(lost(format!("results could not be read: {e:?}"))),
        };
        buffer.unmap();
        Ok(bytes)
    }

    /// How many workgroups run at once, as one of them sees it: the spin barrier waits for no
    /// more. Measured once.
    pub fn resident(&self, most: u32) -> Result<u32> {
        let mut known = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(n) = *known {
            return Ok(n.min(most));
        }
        let n = self.measure_resident()?;
        *known = Some(n);
        Ok(n.min(most))
    }

    fn measure_resident(&self) -> Result<u32> {
        const GROUPS: u32 = super::environment::MAX_WORKGROUPS;
        let text = format!(
            "@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>, 2>;
@compute @workgroup_size({})
fn main(@builtin(local_invocation_id) l: vec3<u32>) {{
  if (l.x == 0u) {{
    let ticket = atomicAdd(&n[0], 1u);
    var seen = ticket + 1u;
    for (var i = 0u; i < 16384u && seen < {GROUPS}u; i++) {{ seen = atomicAdd(&n[0], 0u); }}
    if (ticket == 0u) {{ atomicStore(&n[1], seen); }}
  }}
}}
",
            super::environment::WORKGROUP
        );
        let module = self.shader(&text, Variant::CHECKED)?;
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        self.check()?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let counts = self.buffer(8, usage)?;
        let back = self.buffer(8, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)?;
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: counts.as_entire_binding() }],
        });
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(GROUPS, 1, 1);
        }
        encoder.copy_buffer_to_buffer(&counts, 0, &back, 0, 8);
        self.finish(encoder)?;
        let bytes = self.read(&back)?;
        let word = bytes.get(4..8).and_then(|b| b.try_into().ok()).map_or(1, u32::from_le_bytes);
        Ok(word.max(1))
    }
}
