import LFSBackup

/// What a run has beside its work.
struct Preparation<Extra: Sendable>: Sendable {
    /// Holds uploads while a condition is not met; it has looked already.
    var gate: UploadGate?
    /// How long uploads wait on purpose before they begin: for so much longer the run has patience.
    var delay = Duration.zero
    /// What comes when everything is offloaded.
    var ending = Ending()
    /// What the work needs.
    var extra: Extra
}

/// What a run does when everything is offloaded.
struct Ending: Sendable {
    /// Whether local copies go once they are proven on the storage.
    var freesUploaded = false
    /// The originals that go once they are proven on the storage; nil for none.
    var moves: FolderSource?
}
