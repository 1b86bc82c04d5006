//! Containers by name: whose control group a path is, from what runtimes leave on the host. No server is asked.
//!
//! A runtime names a container's group by its id; the id leads to the kubelet's links to logs and to the state folders of Docker,
//! containerd, CRI-O and Podman. runc and crun alone are named by who runs them, and write down which group they made.

use std::{path::Path, sync::Arc};

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::Root;

/// Names of a container: its own, pod, namespace, image. What no file has is None.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Container {
    /// Its name.
    pub name: Option<String>,
    /// The pod it belongs to.
    pub pod: Option<String>,
    /// The namespace of the pod.
    pub namespace: Option<String>,
    /// The image it was made of.
    pub image: Option<String>,
}

/// Hexadecimal digits of an id.
const ID: usize = 64;
/// The longest description of a container that is read.
const LIMIT: usize = 4 << 20;
/// Where the kubelet links to logs: `POD_NAMESPACE_CONTAINER-ID.log`.
const LINKS: &str = "/var/log/containers";
/// Where Docker keeps `ID/config.v2.json`.
const DOCKER: &str = "/var/lib/docker/containers";
/// Where containerd keeps `NAMESPACE/ID/config.json`.
const CONTAINERD: &str = "/run/containerd/io.containerd.runtime.v2.task";
/// Where CRI-O and Podman keep `overlay-containers/ID/userdata/config.json` and `overlay-containers/containers.json`.
const STORAGE: [&str; 2] = ["/var/lib/containers/storage", "/run/containers/storage"];
/// Where runc and crun keep a folder for each container, and the file in it.
const ALONE: [(&str, &str); 2] = [("/run/runc", "state.json"), ("/run/crun", "status")];
/// Containers that are remembered, and those of runc and crun that are looked at.
const MOST: usize = 4096;

/// Names of containers, by the paths of their control groups.
pub struct Containers {
    root: Root,
    known: FxHashMap<String, Option<Arc<Container>>>,
    /// Groups of containers of runc and crun, by the folder of their state: these are read once.
    alone: FxHashMap<String, Option<String>>,
    /// Whether any runtime has left anything: without one no path is looked up.
    any: bool,
}

impl Containers {
    /// Those of the machine at `root`.
    pub fn new(root: &Root) -> Containers {
        let mut containers =
            Containers { root: root.clone(), known: FxHashMap::default(), alone: FxHashMap::default(), any: false };
        containers.refresh();
        containers
    }

    /// Returns true if there are any containers on this machine, or were.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Looks again for what was not found: a runtime may write down a container after it began.
    pub fn refresh(&mut self) {
        let alone = ALONE.iter().map(|(folder, _)| *folder);
        self.any =
            [LINKS, DOCKER, CONTAINERD].into_iter().chain(STORAGE).chain(alone).any(|folder| self.root.is_dir(folder));
        self.known.retain(|_, container| container.is_some());
        let mut alone = FxHashMap::default();
        for (folder, file) in ALONE {
            for (name, _) in self.root.list(folder).unwrap_or_default().iter().take(MOST) {
                let Some(name) = name.to_str() else { continue };
                let state = format!("{folder}/{name}");
                let known = self.alone.remove(&state).flatten();
                let group = known.or_else(|| group_in(&self.json(&format!("{state}/{file}"))?));
                alone.insert(state, group);
            }
        }
        self.alone = alone;
    }

    /// The container whose group, or a group below, is at `path`; None where it is none, or nothing is known of it. The answer for a path
    /// is kept until [`Containers::forget`], and where nothing was found until [`Containers::refresh`].
    pub fn of(&mut self, path: &str) -> Option<Arc<Container>> {
        if !self.any {
            return None;
        }
        if !self.known.contains_key(path) {
            if self.known.len() >= MOST {
                self.known.clear();
            }
            let found = self.look(path).map(Arc::new);
            self.known.insert(path.to_owned(), found);
        }
        self.known.get(path)?.clone()
    }

    /// Forgets a group that is gone: another one may get its path.
    pub fn forget(&mut self, path: &str) {
        self.known.remove(path);
    }

    fn look(&self, path: &str) -> Option<Container> {
        let Some(id) = id_of(path) else { return self.alone(path) };
        let mut found = Container::default();
        // The kubelet's names first: runtimes have longer ones for the same.
        for part in [self.kubelet(id), self.docker(id), self.containerd(id), self.storage(id), self.podman(id)] {
            let Some(part) = part else { continue };
            found.name = found.name.or(part.name);
            found.pod = found.pod.or(part.pod);
            found.namespace = found.namespace.or(part.namespace);
            found.image = found.image.or(part.image);
        }
        (found != Container::default()).then_some(found)
    }

    /// `shop-0_prod_web-ID.log`: names have no underscore.
    fn kubelet(&self, id: &str) -> Option<Container> {
        let links = self.root.list(LINKS).ok()?;
        let end = format!("-{id}.log");
        links.iter().find_map(|(name, _)| {
            let mut parts = name.to_str()?.strip_suffix(&end)?.splitn(3, '_').map(str::to_owned);
            let (pod, namespace, name) = (parts.next(), parts.next()?, parts.next()?);
            Some(Container { name: Some(name), pod, namespace: Some(namespace), image: None })
        })
    }

    fn docker(&self, id: &str) -> Option<Container> {
        let config = self.json(&format!("{DOCKER}/{id}/config.v2.json"))?;
        let labels = of_labels(&config["Config"]["Labels"]);
        let name = text(&config["Name"]).map(|name| name.trim_start_matches('/').to_owned());
        Some(Container { name: labels.name.or(name), image: text(&config["Config"]["Image"]), ..labels })
    }

    fn containerd(&self, id: &str) -> Option<Container> {
        let namespaces = self.root.list(CONTAINERD).ok()?;
        namespaces.iter().find_map(|(namespace, _)| {
            let config = self.json(&format!("{CONTAINERD}/{}/{id}/config.json", namespace.to_str()?))?;
            Some(of_labels(&config["annotations"]))
        })
    }

    fn storage(&self, id: &str) -> Option<Container> {
        STORAGE.iter().find_map(|storage| {
            let config = self.json(&format!("{storage}/overlay-containers/{id}/userdata/config.json"))?;
            Some(of_labels(&config["annotations"]))
        })
    }

    /// The list of Podman's containers, with names that people gave them.
    fn podman(&self, id: &str) -> Option<Container> {
        let list = self.json(&format!("{}/overlay-containers/containers.json", STORAGE[0]))?;
        let one = list.as_array()?.iter().find(|one| one["id"].as_str() == Some(id))?;
        let more: Value = one["metadata"].as_str().and_then(|more| serde_json::from_str(more).ok()).unwrap_or_default();
        let name = text(&more["name"]).or_else(|| text(&one["names"][0]));
        Some(Container { name, image: text(&more["image-name"]), ..Container::default() })
    }

    /// A container of runc or crun that nothing else manages: its state has the path of its group.
    fn alone(&self, path: &str) -> Option<Container> {
        let is_own = |own: &str| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let (state, _) = self.alone.iter().find(|(_, group)| group.as_deref().is_some_and(is_own))?;
        let name = state.rsplit_once('/').map(|(_, name)| name.to_owned());
        Some(Container { name, ..Container::default() })
    }

    fn json(&self, path: &str) -> Option<Value> {
        serde_json::from_slice(&self.root.read_at_most(path, LIMIT).ok()?).ok()
    }
}

/// The id in the path of a container's group: `/docker/ID`, `…/cri-containerd-ID.scope`, `…/podUID/ID`, `…:cri-containerd:ID`.
fn id_of(path: &str) -> Option<&str> {
    let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    path.split('/').rev().find_map(|part| {
        let bytes = part.as_bytes();
        let end = bytes.strip_suffix(b".scope").unwrap_or(bytes).len();
        let from = end.checked_sub(ID)?;
        let begins = from == 0 || !bytes[from - 1].is_ascii_alphanumeric();
        (begins && bytes[from..end].iter().all(|b| is_hex(*b))).then(|| &part[from..end])
    })
}

/// The container, by labels or annotations of Kubernetes' runtimes.
fn of_labels(labels: &Value) -> Container {
    let first = |names: &[&str]| names.iter().find_map(|name| text(&labels[*name]));
    Container {
        name: first(&["io.kubernetes.container.name", "io.kubernetes.cri.container-name", "nerdctl/name"]),
        pod: first(&["io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name"]),
        namespace: first(&["io.kubernetes.pod.namespace", "io.kubernetes.cri.sandbox-namespace"]),
        image: first(&[
            "io.kubernetes.cri.image-name",
            "io.kubernetes.cri-o.ImageName",
            "io.kubernetes.cri-o.Image",
            "io.containers.image.name",
        ]),
    }
}

/// The path of the group in the state of runc (`cgroup_paths`, by controller, below the mount) or of crun (`cgroup-path`).
fn group_in(state: &Value) -> Option<String> {
    if let Some(path) = text(&state["cgroup-path"]) {
        return Some(format!("/{}", path.trim_matches('/')));
    }
    let paths = state["cgroup_paths"].as_object()?;
    let path = Path::new(paths.get("").or_else(|| paths.values().next())?.as_str()?);
    let below = path.strip_prefix("/sys/fs/cgroup").ok()?;
    // Of version 1 the controller comes first.
    let below = if paths.contains_key("") { below } else { below.strip_prefix(below.components().next()?).ok()? };
    Some(format!("/{}", below.display()))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb2";

    fn machine(files: &[(String, &str)]) -> (tempfile::TempDir, Containers) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let containers = Containers::new(&Root::saved(dir.path()));
        (dir, containers)
    }

    fn said(containers: &mut Containers, path: &str) -> String {
        let Some(container) = containers.of(path) else { return "none".to_owned() };
        let Container { name, pod, namespace, image } = (*container).clone();
        [name, pod, namespace, image].map(|part| part.unwrap_or("-".to_owned())).join(" ")
    }

    #[test]
    fn ids_are_found_in_the_groups_of_every_runtime_and_nowhere_else() {
        for path in [
            format!("/docker/{A}"),
            format!("/system.slice/docker-{A}.scope"),
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-{A}.scope"
            ),
            format!("/kubepods/besteffort/pod11-22/{A}"),
            format!("/kubepods.slice/kubepods-pod1.slice/crio-{A}.scope/container"),
            format!("/machine.slice/libpod-{A}.scope/container"),
            format!("/system.slice/kubepods-pod1.slice:cri-containerd:{A}"),
        ] {
            assert_eq!(id_of(&path), Some(A), "{path}");
        }
        let long = format!("/x/0{A}");
        for path in ["/", "/system.slice/cron.service", "/user.slice/user-1000.slice", "/docker/abc", &long] {
            assert_eq!(id_of(path), None, "{path}");
        }
    }

    #[test]
    fn pods_are_named_by_the_kubelets_links_and_images_by_the_runtime() {
        let annotations = r#"{"annotations": {"io.kubernetes.cri.container-name": "web", "io.kubernetes.cri.sandbox-name": "shop-0",
            "io.kubernetes.cri.sandbox-namespace": "prod", "io.kubernetes.cri.image-name": "registry/web:1.2"}}"#;
        let crio = r#"{"annotations": {"io.kubernetes.container.name": "db", "io.kubernetes.pod.name": "db-0",
            "io.kubernetes.pod.namespace": "prod", "io.kubernetes.cri-o.ImageName": "registry/db:9"}}"#;
        let (_dir, mut containers) = machine(&[
            (format!("/var/log/containers/shop-0_prod_web-{A}.log"), ""),
            (format!("/run/containerd/io.containerd.runtime.v2.task/k8s.io/{A}/config.json"), annotations),
            (format!("/var/lib/containers/storage/overlay-containers/{B}/userdata/config.json"), crio),
        ]);
        assert_eq!(said(&mut containers, &format!("/kubepods/pod1/{A}")), "web shop-0 prod registry/web:1.2");
        assert_eq!(said(&mut containers, &format!("/kubepods.slice/crio-{B}.scope")), "db db-0 prod registry/db:9");
        assert_eq!(said(&mut containers, "/system.slice/cron.service"), "none");
    }

    #[test]
    fn docker_podman_runc_and_crun_name_their_containers() {
        let docker = r#"{"Name": "/web", "Config": {"Image": "nginx:1.27", "Labels": {}}}"#;
        let podman = format!(
            r#"[{{"id": "{B}", "names": ["cache"], "metadata": "{{\"image-name\":\"docker.io/redis:7\",\"name\":\"cache\"}}"}}]"#
        );
        let runc = r#"{"id": "one", "cgroup_paths": {"": "/sys/fs/cgroup/tests/one"}}"#;
        let (_dir, mut containers) = machine(&[
            (format!("{DOCKER}/{A}/config.v2.json"), docker),
            ("/var/lib/containers/storage/overlay-containers/containers.json".to_owned(), &podman),
            ("/run/runc/one/state.json".to_owned(), runc),
            ("/run/crun/two/status".to_owned(), r#"{"pid": 1, "cgroup-path": "/tests/two"}"#),
            ("/run/crun/odd/status".to_owned(), "not JSON"),
        ]);
        assert_eq!(said(&mut containers, &format!("/system.slice/docker-{A}.scope")), "web - - nginx:1.27");
        assert_eq!(
            said(&mut containers, &format!("/machine.slice/libpod-{B}.scope/container")),
            "cache - - docker.io/redis:7"
        );
        assert_eq!(said(&mut containers, "/tests/one"), "one - - -");
        assert_eq!(said(&mut containers, "/tests/two/inner"), "two - - -");
        assert_eq!(
            (said(&mut containers, "/tests/twofold"), said(&mut containers, "/tests")),
            ("none".into(), "none".into())
        );
    }

    #[test]
    fn an_id_that_no_file_knows_is_no_container() {
        let (_dir, mut containers) = machine(&[(format!("{DOCKER}/{A}/config.v2.json"), "[]")]);
        assert_eq!(said(&mut containers, &format!("/docker/{B}")), "none");
        assert_eq!(said(&mut containers, &format!("/docker/{A}")), "none");
    }
}
