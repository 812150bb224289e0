import LFS

/// What became of originals.
extension Report {
    /// An original went once it was proven on the storage.
    func moved(_ file: FileData, _ path: FilePath) {
        worked()
        changeTally { $0.moved += 1 }
        var event = JSONEvent("moved")
        (event.id, event.path, event.bytes) = (file.id, path.exact, file.byteCount)
        tell(event, verbose: "moved \(file.id) \(path)")
    }
}
