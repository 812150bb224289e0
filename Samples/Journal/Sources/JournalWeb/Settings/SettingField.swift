import Foundation
import LFSBackup
import LFSSettings

/// A setting as a field of a form: its control there, the text of its value, and the change that a text makes.
struct SettingField: Sendable {
    /// A closure that stores a value or removes it.
    typealias Change = @Sendable (SettingsBatch) throws -> Void

    /// A control of a form.
    enum Control: Sendable {
        case choice([Option])
        case number(ClosedRange<Int>)
        case toggle
        case text
    }

    /// A word that a setting may have as its value, with its name for people.
    struct Option: Sendable {
        let value: String
        let name: String
    }

    let name: String
    let label: String
    let hint: String
    let control: Control
    /// The name of the key.
    let key: String
    /// The text of the default.
    let defaultText: String
    /// A closure that returns the text of the present value.
    let text: @Sendable (SettingsSnapshot) throws -> String
    /// A closure that removes the value, so that the default is used.
    let reset: Change
    /// A closure that returns the change for a text. Nil for an invalid text.
    private let change: @Sendable (String) -> Change?
    /// A description of the permitted texts for people.
    private let allowed: String

    /// - Parameters:
    ///   - text: A closure that returns the text of a value.
    ///   - value: A closure that returns the value of a text. Nil for an invalid text.
    private init<Value: Sendable>(
        _ name: String, key: StorageKey<Value>, label: String, hint: String = "", control: Control, allowed: String,
        text: @escaping @Sendable (Value) -> String, value: @escaping @Sendable (String) -> Value?
    ) {
        self.name = name
        self.label = label
        self.hint = hint
        self.control = control
        self.key = key.name
        self.allowed = allowed
        self.text = { snapshot in text(try snapshot.get(key)) }
        defaultText = key.defaultValue.map(text) ?? ""
        reset = { batch in try batch.remove(key) }
        change = { text in
            guard let value = value(text) else { return nil }
            return { batch in try batch.set(value, for: key) }
        }
    }

    /// Returns a field for one of several words.
    ///
    /// - Parameter names: The names of words that are not shown as they are.
    static func choice<Value: RawRepresentable<String> & Codable & CaseIterable & Hashable & Sendable>(
        _ name: String, key: StorageKey<Value>, label: String, names: [Value: String] = [:]
    ) -> SettingField {
        let options = Value.allCases.map { Option(value: $0.rawValue, name: names[$0] ?? $0.rawValue) }
        return SettingField(
            name, key: key, label: label, control: .choice(options),
            allowed: "one of " + options.map(\.value).joined(separator: ", "), text: { $0.rawValue },
            value: { Value(rawValue: $0) })
    }

    /// Returns a field for a whole number in a range.
    static func number(
        _ name: String, key: StorageKey<Int>, label: String, range: ClosedRange<Int>
    ) -> SettingField {
        SettingField(
            name, key: key, label: label, control: .number(range), allowed: words(range),
            text: { "\(min(max($0, range.lowerBound), range.upperBound))" }, value: { number($0, range: range) })
    }

    /// Returns a field for a duration in whole minutes.
    static func minutes(
        _ name: String, key: StorageKey<Duration>, label: String, range: ClosedRange<Int>
    ) -> SettingField {
        SettingField(
            name, key: key, label: label, control: .number(range), allowed: words(range),
            text: { "\($0.components.seconds / 60)" },
            value: { number($0, range: range).map { .seconds($0 * 60) } })
    }

    /// Returns a field for media types, separated by commas.
    static func mediaTypes(_ name: String, key: StorageKey<[String]>, label: String) -> SettingField {
        let allowed = "at most 20 media types, such as image/png or video/*, separated by commas"
        return SettingField(
            name, key: key, label: label, control: .text, allowed: allowed, text: { $0.joined(separator: ", ") }
        ) { text in
            let types = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
            // The names of RFC 6838, section 4.2.
            guard types.count <= 20, types.allSatisfy({ $0.wholeMatch(of: /[a-z]+\/(\*|[a-z0-9.+_-]{1,64})/) != nil })
            else { return nil }
            return types
        }
    }

    /// Returns a field for a box. Browsers send `on` for a ticked box, and nothing for any other box.
    static func toggle(_ name: String, key: StorageKey<Bool>, label: String, hint: String) -> SettingField {
        SettingField(
            name, key: key, label: label, hint: hint, control: .toggle, allowed: "on or off",
            text: { $0 ? "on" : "off" }, value: { ["on": true, "off": false][$0] })
    }

    private static func number(_ text: String, range: ClosedRange<Int>) -> Int? {
        Int(text).flatMap { range.contains($0) ? $0 : nil }
    }

    private static func words(_ range: ClosedRange<Int>) -> String {
        "a number from \(range.lowerBound) to \(range.upperBound)"
    }

    /// Returns the change that a form makes. Nil if the field is missing or is as on the page.
    ///
    /// - Throws: ``WebError/Code/badRequest``.
    private func change(_ form: Form) throws(WebError) -> Change? {
        let hasShown = form.has("was-\(name)")
        var isToggle = false
        if case .toggle = control { isToggle = true }
        guard form.has(name) || isToggle && hasShown else { return nil }
        let (texts, text) = (form.all(name), form.has(name) ? form[name] : "off")
        // Another window may have changed the setting in the meantime.
        if hasShown, form["was-\(name)"] == text { return nil }
        guard texts.count < 2, let change = change(text) else {
            throw WebError(
                .badRequest, message: "'\(text.prefix(40))' is not a value of the setting '\(name)'. Write \(allowed).")
        }
        return change
    }

    /// Stores the changes that a form makes to some settings, all or none.
    ///
    /// - Throws: ``WebError/Code/badRequest``, also for a field that is not a setting. `SettingsError`.
    static func save(_ form: Form, of fields: [SettingField], in settings: StorageRouter) async throws {
        let known = Set(fields.flatMap { [$0.name, "was-\($0.name)"] } + ["token"])
        if let unknown = form.names.first(where: { !known.contains($0) }) {
            throw WebError(.badRequest, message: "There is no setting '\(unknown.prefix(40))'. Reload the page.")
        }
        let changes = try fields.compactMap { try $0.change(form) }
        try await settings.write { batch in
            for change in changes { try change(batch) }
        }
    }
}

// MARK: The forms

extension SettingField {
    /// The settings of the appearance.
    static let appearance: [SettingField] = [
        .choice("theme", key: .themeMode, label: "Light or dark", names: [.system: "same as the browser"]),
        .choice("color", key: .primaryColor, label: "Colour"),
        .choice("grouping", key: .groupPicturesBy, label: "Group pictures by", names: [.none: "nothing"]),
        .number(
            "tiles", key: .tilesPerRow, label: "Pictures per row, if the window is wide enough",
            range: Appearance.tiles),
        .toggle("colorful", key: .colorfulInterface, label: "Colours", hint: "Otherwise pages are grey."),
        .toggle("badges", key: .storageIndicator, label: "Show where pictures are", hint: "On each tile."),
        .toggle("whole", key: .dynamicLayout, label: "Whole pictures on tiles", hint: "Without cropping."),
        .toggle(
            "preview", key: .loadPreview, label: "Load previews",
            hint: "On the page of a picture, instead of the thumbnail."),
        .toggle(
            "original", key: .loadOriginal, label: "Load originals",
            hint: "On the page of a picture. A picture without a local copy is downloaded."),
    ]

    /// The settings of the caches.
    static let caches: [SettingField] = [
        .number("thumbnails", key: .thumbnailCacheSize, label: "Thumbnails", range: CacheSizes.range),
        .number("images", key: .imageCacheSize, label: "Previews", range: CacheSizes.range),
        .number("covers", key: .albumThumbnailCacheSize, label: "Covers of albums", range: CacheSizes.range),
    ]

    /// The settings of the clean-up.
    static let cleanup: [SettingField] = [
        .toggle(
            "favorites", key: .cleanupKeepsFavorites, label: "Favourites stay on this device",
            hint: "Also when space is freed."),
        .mediaTypes(
            "types", key: .cleanupContentTypes, label: "Media types that stay, such as image/png or video/*"),
        .number(
            "days", key: .cleanupDays, label: "Days after its last use for which a picture stays, 0 for none",
            range: CleanupRules.days),
    ]

    /// The settings of the backup of folders.
    ///
    /// - Parameter isOnFolder: Indicates that the storage is a folder, for which network costs do not matter.
    static func backup(isOnFolder: Bool) -> [SettingField] {
        let hint = "With automatic backups, all uploads wait for this."
        var fields: [SettingField] = [
            .toggle("automatic", key: .backupAutomatic, label: "Back up automatically", hint: "Every 15 minutes."),
            .toggle("charging", key: .backupRequiresCharging, label: "Only on mains power", hint: hint),
        ]
        if !isOnFolder {
            fields.append(
                .toggle("wifi", key: .backupRequiresWiFi, label: "Only over cable or Wi-Fi", hint: hint))
        }
        let delay = "Minutes before a new picture is uploaded"
        return fields + [.minutes("delay", key: .backupDelay, label: delay, range: 0...1_440)]
    }
}
