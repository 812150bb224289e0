import GRDB
import LFSBackup
package import LFSSettings

/// The settings of an uploader's database: those of a backup.
enum UploaderSettings {
    static let catalogs = [BackupSettings.catalog]

    /// All keys of the catalogs, in the order of their names.
    static var lines: [SettingLine] {
        [
            SettingLine(.backupAutomatic), SettingLine(.backupBackground),
            SettingLine(
                .backupDelay, form: "a time from 0 to 24h, such as 90s, 10m or 2h", text: DelayArgument.text,
                value: { DelayArgument(argument: $0)?.duration }),
            SettingLine(
                .backupGroups, form: GroupsArgument.form, text: GroupsArgument.text,
                value: { words in
                    GroupsArgument(argument: words).flatMap { $0.names.isEmpty ? $0.groups : nil }
                }),
            SettingLine(.backupRequiresCharging), SettingLine(.backupRequiresWiFi),
        ]
    }

    static func open(_ database: any DatabaseWriter) async throws -> StorageRouter {
        try await StorageRouter.open(database, catalogs: catalogs)
    }
}

/// A setting as people read and write it, without the type of its values.
package struct SettingLine: Sendable {
    package let name: String
    /// What its values look like.
    package let form: String
    /// Nil for one without a default.
    package let defaultText: String?
    /// Whether its value is never shown.
    package let isSecret: Bool
    private let stored: @Sendable (StorageRouter) async throws -> String?
    private let isStored: @Sendable (StorageRouter) async throws -> Bool
    private let write: @Sendable (String, StorageRouter) async throws -> Bool
    private let erase: @Sendable (StorageRouter) async throws -> Void

    /// - Parameter value: nil for a text that is no value.
    package init<Value>(
        _ key: StorageKey<Value>, form: String, text: @escaping @Sendable (Value) -> String,
        value: @escaping @Sendable (String) -> Value?
    ) {
        name = key.name
        self.form = form
        defaultText = key.defaultValue.map(text)
        let isSecret = key.security != .none || "\(key.domain)".hasPrefix("keychain")
        self.isSecret = isSecret
        stored = { storage in isSecret ? nil : try await storage.getIfPresent(key).map(text) }
        isStored = { storage in try await storage.exists(key) }
        write = { words, storage in
            guard let value = value(words) else { return false }
            try await storage.set(value, for: key)
            return true
        }
        erase = { storage in try await storage.remove(key) }
    }

    init(_ key: StorageKey<Bool>) {
        self.init(key, form: "true or false", text: { "\($0)" }, value: { Bool($0) })
    }

    /// The bare value, the default where none is stored.
    ///
    /// - Throws: ``UploaderError`` for a secret, and where there is neither.
    package func text(_ storage: StorageRouter) async throws -> String {
        guard !isSecret else {
            throw UploaderError(
                "\(name) is a secret, and secrets are not shown. 'settings list' tells whether it is set.")
        }
        if let text = try await stored(storage) ?? defaultText { return text }
        throw UploaderError("\(name) is not set, and has no default. Set it: \(form).")
    }

    /// A line of the list: its value unless it is a secret, and where that comes from; or why it cannot be read.
    package func state(_ storage: StorageRouter) async throws -> State {
        var state = State(name: name, defaultValue: isSecret ? nil : defaultText, isSet: true, isSecret: isSecret)
        do {
            state.isSet = try await isStored(storage)
            if !isSecret { state.value = state.isSet ? try await stored(storage) : defaultText }
        } catch let error as SettingsError {
            state.problem = Words.of(error)
        }
        return state
    }

    /// - Throws: ``UploaderError`` for a text that is no value; it says what is.
    package func set(_ words: String, _ storage: StorageRouter) async throws {
        guard try await write(words, storage) else {
            let given = isSecret ? "This" : "'\(Printable.text(words))'"
            throw UploaderError("\(given) is no value of \(name). What is: \(form).")
        }
    }

    package func remove(_ storage: StorageRouter) async throws { try await erase(storage) }

    /// What the list shows of it.
    package struct State: Encodable, Sendable {
        package var name: String
        package var value: String?
        package var defaultValue: String?
        package var isSet: Bool
        package var isSecret: Bool
        /// Why it cannot be read; the other settings can.
        package var problem: String?

        package var words: String {
            if let problem {
                return """
                    \(name)  cannot be read: \(Printable.text(problem)) ('settings set' and 'settings remove' put \
                    another value in its place.)
                    """
            }
            let shown = isSecret ? (isSet ? "(a secret)" : "") : Printable.text(value ?? "")
            let state =
                isSet ? "set" + (isSecret ? "" : ", default \(Printable.text(defaultValue ?? "none"))") : "default"
            return "\(name)  \(shown)  (\(isSecret && !isSet ? "not set" : state))"
        }
    }
}
