import GRDB
import LFSBackup
import LFSSettings

/// The settings of an uploader's database: its account, backups, and the clean-up of local copies.
enum UploaderSettings {
    static let catalogs = [AccountSettings.catalog, BackupSettings.catalog, CleanupSettings.catalog]

    /// All keys of the catalogs, in the order of their names.
    static var lines: [SettingLine] { AccountSettings.lines + backupLines + CleanupSettings.lines }

    private static var backupLines: [SettingLine] {
        [
            SettingLine(.backupAutomatic, meaning: "true or false, for apps, not for 'uploader'"),
            SettingLine(
                .backupDelay, form: "a time from 0 to 24h, such as 90s, 10m or 2h",
                meaning: "how long the upload of a new file waits, 0 to 24h, such as 10m", text: DelayArgument.text,
                // The caller reports an invalid text.
                value: { try? DelayArgument.parse($0) }),
            SettingLine(
                .backupGroups, form: "\(GroupsArgument.form) with absolute paths",
                meaning: "the folders of 'backup', as \(GroupsArgument.form)", text: GroupsArgument.text,
                value: groups),
            SettingLine(
                .backupRequiresCharging, meaning: "true to upload on mains power only (--when mains)"),
            SettingLine(.backupRequiresWiFi, meaning: "true to upload on cable or Wi-Fi only (--when unmetered)"),
        ]
    }

    /// Parses groups whose paths are absolute and valid text. A later 'backup' may run in another folder.
    private static func groups(_ text: String) -> [BackupGroup]? {
        guard let argument = GroupsArgument(argument: text), argument.names.isEmpty,
            argument.groups.allSatisfy({ $0.id.hasPrefix("/") })
        else { return nil }
        return argument.groups
    }

    /// All settings with the meaning of their values, for the help.
    static var meanings: String { lines.map { "\($0.name): \($0.meaning)." }.joined(separator: "\n") }

    static func open(_ database: any DatabaseWriter) async throws -> StorageRouter {
        try await StorageRouter.open(database, catalogs: catalogs)
    }

    /// Opens an existing database of an uploader, and its settings, for the time of a body.
    static func use(at path: String, _ body: (StorageRouter) async throws -> Void) async throws {
        let file = try DatabaseFile(at: path)
        try file.requireThere()
        try file.requireOurs()
        let database = try DocumentDatabase.open(file)
        try await use(database, body)
        try DocumentDatabase.close(database)
    }

    /// Opens the settings for the time of a body.
    static func use<Result>(
        _ database: any DatabaseWriter, _ body: (StorageRouter) async throws -> Result
    ) async throws -> Result {
        let settings = try await open(database)
        do {
            let result = try await body(settings)
            try await settings.stop()
            return result
        } catch {
            try await settings.stop()
            throw error
        }
    }
}

/// A setting in text form, independent of the type of its values.
struct SettingLine: Sendable {
    let name: String
    /// A description of valid values.
    let form: String
    /// A description of the effect of its values, for the help.
    let meaning: String
    /// The default as text. Nil without a default.
    let defaultText: String?
    /// True if its value is never shown.
    let isSecret: Bool
    private let stored: @Sendable (StorageRouter) async throws -> String?
    private let isStored: @Sendable (StorageRouter) async throws -> Bool
    private let write: @Sendable (String, StorageRouter) async throws -> Bool
    private let erase: @Sendable (StorageRouter) async throws -> Void

    /// - Parameter value: parses a value. Returns nil for an invalid text, or throws its own reason.
    init<Value>(
        _ key: StorageKey<Value>, form: String, meaning: String, text: @escaping @Sendable (Value) -> String,
        value: @escaping @Sendable (String) throws -> Value?
    ) {
        name = key.name
        self.form = form
        self.meaning = meaning
        defaultText = key.defaultValue.map(text)
        let isSecret = key.security != .none || "\(key.domain)".hasPrefix("keychain")
        self.isSecret = isSecret
        stored = { storage in isSecret ? nil : try await storage.getIfPresent(key).map(text) }
        isStored = { storage in try await storage.exists(key) }
        write = { words, storage in
            guard let value = try value(words) else { return false }
            try await storage.set(value, for: key)
            return true
        }
        erase = { storage in try await storage.remove(key) }
    }

    init(_ key: StorageKey<Bool>, meaning: String) {
        self.init(key, form: "true or false", meaning: meaning, text: { "\($0)" }, value: { Bool($0) })
    }

    /// Returns the value, or the default if none is stored.
    ///
    /// - Throws: ``UploaderError`` for a secret, and for a setting without a value and a default.
    func text(_ storage: StorageRouter) async throws -> String {
        guard !isSecret else {
            throw UploaderError(
                "\(name) is a secret, and secrets are not shown. 'settings list' shows whether it is set.")
        }
        if let text = try await stored(storage) ?? defaultText { return text }
        throw UploaderError("\(name) is not set, and has no default. Set it: \(form).")
    }

    /// Returns the state for the list: the value unless it is a secret, and its origin, or the reason why it is
    /// unreadable.
    func state(_ storage: StorageRouter) async throws -> State {
        var state = State(name: name, defaultValue: isSecret ? nil : defaultText, isSet: true, isSecret: isSecret)
        do {
            state.isSet = try await isStored(storage)
            if !isSecret { state.value = state.isSet ? try await stored(storage) : defaultText }
        } catch let error as SettingsError {
            state.problem = ErrorMessages.of(error)
        }
        return state
    }

    /// - Throws: ``UploaderError`` for an invalid text, with a description of valid values.
    func set(_ words: String, storage: StorageRouter) async throws {
        guard try await write(words, storage) else {
            let given = isSecret ? "This" : "'\(Printable.text(words))'"
            throw UploaderError("\(given) is not a value of \(name). Valid: \(form).")
        }
    }

    func remove(_ storage: StorageRouter) async throws { try await erase(storage) }

    /// The state of a setting in the list.
    struct State: Encodable, Sendable {
        var name: String
        var value: String?
        var defaultValue: String?
        var isSet: Bool
        var isSecret: Bool
        /// The reason why it is unreadable. Other settings are not affected.
        var problem: String?

        /// Returns a line of a list for people.
        func words(_ widths: Widths) -> String {
            let name = Format.column(name, width: widths.name)
            if let problem {
                return """
                    \(name)  cannot be read: \(Printable.text(problem)) ('settings set' or 'settings remove' replaces \
                    it.)
                    """
            }
            let standard = defaultValue.flatMap { $0.isEmpty ? nil : Printable.text($0) } ?? "none"
            let state = isSet ? "set" + (isSecret ? "" : ", default \(standard)") : "default"
            return "\(name)  \(Format.column(shown, width: widths.value))  (\(state))"
        }

        fileprivate var shown: String {
            if isSecret { return isSet ? "(a secret)" : "not set" }
            guard let value, !value.isEmpty else { return isSet ? "none" : "not set" }
            return Printable.text(value)
        }
    }

    /// The widths of the columns of a list. Zero for scripts.
    struct Widths: Sendable {
        var name = 0
        var value = 0

        init() {}

        /// Computes the widths for a list on a terminal. An unusually long value only shifts its own line.
        init(_ states: [State]) {
            name = states.map(\.name.utf8.count).max() ?? 0
            value = states.map(\.shown.utf8.count).filter { $0 <= 24 }.max() ?? 0
        }
    }
}
