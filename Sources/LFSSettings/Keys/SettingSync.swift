/// Whether the values of a key go to the user's other devices.
public enum SettingSync: Hashable, Sendable {
    /// They stay here.
    case never
    /// They go, and those of others come, when the app asks for it: ``StorageRouter/synchronize()``.
    case manual
    /// They go by themselves while the router runs, and so come those of others.
    ///
    /// - Parameter maxByteCount: a larger value is refused by `set`.
    case automatic(maxByteCount: Int)

    /// Bytes of a value at most; nil for what the domain takes.
    var limit: Int? {
        if case .automatic(let maxByteCount) = self { maxByteCount } else { nil }
    }
}

extension SettingSync: CustomStringConvertible {
    /// Its name, as the audit shows it.
    public var description: String {
        switch self {
        case .never: "never"
        case .manual: "manual"
        case .automatic: "automatic"
        }
    }
}
