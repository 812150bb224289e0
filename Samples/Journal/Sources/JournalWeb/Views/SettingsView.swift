/// The settings as a form.
struct SettingsView: Sendable {
    /// A word that a setting may have as its value.
    struct Option: Sendable {
        let value: String
        let name: String
        let isChosen: Bool
    }

    struct Choice: Sendable {
        let name: String
        let label: String
        let was: String
        let options: [Option]
    }

    struct Toggle: Sendable {
        let name: String
        let label: String
        let hint: String
        let was: String
        let isOn: Bool

        init(_ name: String, isOn: Bool, label: String, hint: String) {
            self.name = name
            self.isOn = isOn
            self.label = label
            self.hint = hint
            was = isOn ? "on" : "off"
        }
    }

    let choices: [Choice]
    let toggles: [Toggle]
    let tiles: Int
    let fewestTiles = Appearance.tiles.lowerBound
    let mostTiles = Appearance.tiles.upperBound
    /// The settings of the caches and of the clean-up.
    let space: SpaceView
    let account: AccountView
    /// Indicates that browsers have to log in, so that they can be logged out.
    let hasPassword: Bool
    /// The backup of folders. Nil if the server permits no folders.
    let backup: BackupView?
    /// The settings that cannot be read. Nil if all can be read.
    let unreadable: String?

    init(_ appearance: Appearance, space: SpaceView, account: AccountView, backup: BackupView?, hasPassword: Bool) {
        self.space = space
        self.account = account
        self.backup = backup
        self.hasPassword = hasPassword
        choices = [
            Self.choice(
                "theme", label: "Light or dark", value: appearance.theme,
                names: [.system: "same as the browser", .light: "light", .dark: "dark"]),
            Self.choice("color", label: "Colour", value: appearance.color, names: [:]),
            Self.choice(
                "grouping", label: "Group pictures by", value: appearance.grouping,
                names: [.none: "nothing"]),
        ]
        toggles = [
            Toggle("colorful", isOn: appearance.isColorful, label: "Colours", hint: "Otherwise pages are grey."),
            Toggle("badges", isOn: appearance.showsBadges, label: "Show where pictures are", hint: "On each tile."),
            Toggle(
                "whole", isOn: appearance.showsWhole, label: "Whole pictures on tiles",
                hint: "Without cropping."),
            Toggle(
                "preview", isOn: appearance.loadsPreview, label: "Load previews",
                hint: "On the page of a picture, instead of the thumbnail."),
            Toggle(
                "original", isOn: appearance.loadsOriginal, label: "Load originals",
                hint: "On the page of a picture. A picture without a local copy is downloaded."),
        ]
        tiles = appearance.tilesPerRow
        let unreadable = appearance.unreadable + space.unreadable
        self.unreadable = unreadable.isEmpty ? nil : unreadable.joined(separator: ", ")
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable & Hashable>(
        _ name: String, label: String, value: Value, names: [Value: String]
    ) -> Choice {
        Choice(
            name: name, label: label, was: value.rawValue,
            options: Value.allCases.map { one in
                Option(value: one.rawValue, name: names[one] ?? one.rawValue, isChosen: one == value)
            })
    }
}
