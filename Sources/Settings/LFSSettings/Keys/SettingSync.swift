/// The sync of a key's values with the user's other devices.
public enum SettingSync: Hashable, Sendable {
    /// The values stay on this device.
    case never
    /// The values are synced when the app calls ``StorageRouter/synchronize()``.
    case manual
    /// The values are synced automatically while the router runs.
    ///
    /// - Parameter maxByteCount: the limit of a value's size. `set` refuses larger values.
    case automatic(maxByteCount: Int)

    /// The limit of a value's size in bytes. Nil means the limit of the domain.
    var limit: Int? {
        if case .automatic(let maxByteCount) = self { maxByteCount } else { nil }
    }
}

extension SettingSync: CustomStringConvertible {
    /// The name that the audit shows.
    public var description: String {
        switch self {
        case .never: "never"
        case .manual: "manual"
        case .automatic: "automatic"
        }
    }
}
