/// The calls of a remote storage, to name those that a faulty storage spoils: every one takes them as `on:`.
public enum StorageOperation: String, CaseIterable, Hashable, Sendable {
    case upload, download, head, delete, list

    /// All of them.
    public static let all = Set(allCases)
}
