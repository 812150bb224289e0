/// The operations of a remote storage. Faulty storages take a set of them as `on:`.
public enum StorageOperation: String, CaseIterable, Hashable, Sendable {
    case upload, download, head, delete, list

    /// All operations.
    public static let all = Set(allCases)
}
