import LFSCache
import LFSSettings

/// A setting in a form.
struct FieldView: Sendable {
    struct Option: Sendable {
        let value: String
        let name: String
        let isChosen: Bool
    }

    struct Range: Sendable {
        let least: Int
        let most: Int
    }

    let name: String
    let label: String
    let hint: String
    /// The present value. The form sends it back, to show whether the field was changed.
    let text: String
    private(set) var isChoice = false
    private(set) var options: [Option] = []
    private(set) var range: Range?
    private(set) var isToggle = false
    private(set) var isOn = false
    private(set) var isText = false

    init(_ field: SettingField, text: String) {
        name = field.name
        label = field.label
        hint = field.hint
        self.text = text
        switch field.control {
        case .choice(let words):
            isChoice = true
            options = words.map { Option(value: $0.value, name: $0.name, isChosen: $0.value == text) }
        case .number(let numbers): range = Range(least: numbers.lowerBound, most: numbers.upperBound)
        case .toggle:
            isToggle = true
            isOn = text == "on"
        case .text: isText = true
        }
    }
}

/// The page with the settings. The default is shown for a value that cannot be read.
struct SettingsView: Sendable {
    let appearance: [FieldView]
    let caches: [FieldView]
    let cleanup: [FieldView]
    /// The number of albums whose pictures stay, as a sentence.
    let albums: String
    /// The content of the cache in words. Nil without a cache.
    let cached: String?
    /// The settings that cannot be read. Nil if all can be read.
    let unreadable: String?
    let account: AccountView
    /// The backup of folders. Nil if the server permits no folders.
    let backup: BackupView?
    /// Indicates that browsers have to log in, so that they can be logged out.
    let hasPassword: Bool

    init(
        _ snapshot: SettingsSnapshot, usage: CacheUsage?, account: AccountView, backup: BackupView?, hasPassword: Bool
    ) {
        var unreadable: [String] = []
        func value<Value>(_ key: String, default fallback: Value, _ read: () throws -> Value) -> Value {
            do {
                return try read()
            } catch {
                unreadable.append(key)
                return fallback
            }
        }
        func views(_ fields: [SettingField]) -> [FieldView] {
            fields.map { field in
                FieldView(field, text: value(field.key, default: field.defaultText) { try field.text(snapshot) })
            }
        }
        appearance = views(SettingField.appearance)
        caches = views(SettingField.caches)
        cleanup = views(SettingField.cleanup)
        let kept = value(StorageKey<[String]>.cleanupAlbums.name, default: []) { try snapshot.get(.cleanupAlbums) }
        albums = "The pictures of \(Words.count(kept.count, one: "album", more: "albums")) stay on this device."
        cached = usage.map { usage in
            let disk = usage.kinds.values.map(\.disk)
            let entries = Words.count(disk.map(\.count).reduce(0, +), one: "picture", more: "pictures")
            return "\(entries) with \(Words.bytes(Int64(disk.map(\.byteCount).reduce(0, +))))"
        }
        self.unreadable = unreadable.isEmpty ? nil : unreadable.joined(separator: ", ")
        self.account = account
        self.backup = backup
        self.hasPassword = hasPassword
    }
}

/// The account of the journal, and the removals that a page offers.
struct AccountView: Sendable {
    /// The server. Nil without an account.
    let server: String?
    let endpoint: String?
    let user: String
    /// Indicates that a page can remove the journal from this device.
    let canRemove: Bool
    /// The number of pictures that a removal would lose.
    let lost: Int
    /// The loss as a sentence. Nil if all pictures are on the storage.
    let loss: String?

    init(_ snapshot: SettingsSnapshot, lost: Int, canRemove: Bool) {
        server = Self.text(.accountServerURL, of: snapshot)
        endpoint = Self.text(.accountEndpoint, of: snapshot)
        user = Self.text(.accountUser, of: snapshot) ?? "not known yet"
        self.canRemove = canRemove
        self.lost = lost
        let pictures = Words.count(lost, one: "picture is", more: "pictures are")
        loss = lost == 0 ? nil : "\(pictures) not on the storage and will be lost for good."
    }

    /// Returns the value, a sentence for one that cannot be read, or nil without one. A login replaces such a value.
    private static func text(_ key: StorageKey<String>, of snapshot: SettingsSnapshot) -> String? {
        do {
            return try snapshot.getIfPresent(key)
        } catch {
            return "It cannot be read. Log in again."
        }
    }
}
