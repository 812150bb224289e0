import LFS

/// Events of moved originals.
extension Report {
    /// Reports that an original was removed because its upload is confirmed.
    func moved(_ file: FileData, path: FilePath) {
        worked()
        changeTally { $0.moved += 1 }
        var event = JSONEvent("moved")
        event.id = file.id
        event.path = path.exact
        event.bytes = file.byteCount
        tell(event, verbose: "moved \(file.id) \(path)")
    }
}
