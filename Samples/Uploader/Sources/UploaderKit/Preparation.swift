import LFSBackup

/// The parameters of a run in addition to its work.
struct Preparation<Extra: Sendable>: Sendable {
    /// The gate that holds uploads while a condition is not met. It has checked the conditions already.
    var gate: UploadGate?
    /// The intentional delay of uploads. The run waits this much longer before it gives up.
    var delay = Duration.zero
    /// The steps after all files are uploaded.
    var ending = ExitActions()
    /// The input of the work.
    var extra: Extra
}

/// The steps of a run after all files are uploaded.
struct ExitActions: Sendable {
    /// True if local copies are freed once their upload is confirmed.
    var freesUploaded = false
    /// The source of the originals that are removed once their upload is confirmed. Nil for no removal.
    var moves: FolderSource?
}
