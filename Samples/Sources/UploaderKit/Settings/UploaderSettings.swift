import GRDB
import LFSBackup
import LFSSettings

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

    /// All of them with what their values look like, for the help.
    static var forms: String { lines.map { "\($0.name): \($0.form)." }.joined(separator: "\n") }

    static func open(_ database: any DatabaseWriter) async throws -> StorageRouter {
        try await StorageRouter.open(database, catalogs: catalogs)
    }
}

/// A setting as people read and write it, without the type of its values.
struct SettingLine: Sendable {
    let name: String
    /// What its values look like.
    let form: String
    /// Nil for one without a default.
    let defaultText: String?
    /// Whether its value is never shown.
    let isSecret: Bool
    private let stored: @Sendable (StorageRouter) async throws -> String?
    private let isStored: @Sendable (StorageRouter) async throws -> Bool
    private let write: @Sendable (String, StorageRouter) async throws -> Bool
    private let erase: @Sendable (StorageRouter) async throws -> Void

    /// - Parameter value: nil for a text that is no value.
    init<Value>(
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
    func text(_ storage: StorageRouter) async throws -> String {
        guard !isSecret else {
            throw UploaderError(
                "\(name) is a secret, and secrets are not shown. 'settings list' tells whether it is set.")
        }
        if let text = try await stored(storage) ?? defaultText { return text }
        throw UploaderError("\(name) is not set, and has no default. Set it: \(form).")
    }

    /// A line of the list: its value unless it is a secret, and where that comes from; or why it cannot be read.
    func state(_ storage: StorageRouter) async throws -> State {
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
    func set(_ words: String, _ storage: StorageRouter) async throws {
        guard try await write(words, storage) else {
            let given = isSecret ? "This" : "'\(Printable.text(words))'"
            throw UploaderError("\(given) is no value of \(name). What is: \(form).")
        }
    }

    func remove(_ storage: StorageRouter) async throws { try await erase(storage) }

    /// What the list shows of it.
    struct State: Encodable, Sendable {
        var name: String
        var value: String?
        var defaultValue: String?
        var isSet: Bool
        var isSecret: Bool
        /// Why it cannot be read; the other settings can.
        var problem: String?

        /// For people, below others.
        func words(_ widths: Widths) -> String {
            let name = Format.column(name, widths.name)
            if let problem {
                return """
                    \(name)  cannot be read: \(Printable.text(problem)) ('settings set' and 'settings remove' put \
                    another value in its place.)
                    """
            }
            let state =
                isSet ? "set" + (isSecret ? "" : ", default \(Printable.text(defaultValue ?? "none"))") : "default"
            return "\(name)  \(Format.column(shown, widths.value))  (\(isSecret && !isSet ? "not set" : state))"
        }

        fileprivate var shown: String {
            isSecret ? (isSet ? "(a secret)" : "") : Printable.text(value ?? "")
        }
    }

    /// How wide the columns of a list are; not at all where a script reads it.
    struct Widths: Sendable {
        var name = 0
        var value = 0

        init() {}

        /// Of a list on a terminal. A value that is longer than most of them moves its line alone.
        init(_ states: [State]) {
            name = states.map(\.name.utf8.count).max() ?? 0
            value = states.map(\.shown.utf8.count).filter { $0 <= 24 }.max() ?? 0
        }
    }
}
