/// The calls of a remote storage, to name the ones that a faulty storage spoils.
public enum StorageOperation: String, CaseIterable, Hashable, Sendable {
    case upload, download, head, delete, list
}
