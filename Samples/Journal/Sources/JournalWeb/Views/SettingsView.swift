/// The settings as a form.
struct SettingsView: Sendable {
    /// One of the words that a setting may be.
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

        init(_ name: String, _ isOn: Bool, _ label: String, _ hint: String) {
            (self.name, self.isOn, self.label, self.hint) = (name, isOn, label, hint)
            was = isOn ? "on" : "off"
        }
    }

    let choices: [Choice]
    let toggles: [Toggle]
    let tiles: Int
    let fewestTiles = Appearance.tiles.lowerBound
    let mostTiles = Appearance.tiles.upperBound
    /// Whether there is a door that somebody could have come in by.
    let hasPassword: Bool
    /// nil where no folders may be named.
    let backup: BackupView?
    /// The settings that cannot be read; nil when all can.
    let unreadable: String?

    init(_ appearance: Appearance, backup: BackupView?, hasPassword: Bool) {
        self.backup = backup
        self.hasPassword = hasPassword
        choices = [
            Self.choice(
                "theme", "Light or dark", appearance.theme,
                [.system: "as the browser asks for", .light: "light", .dark: "dark"]),
            Self.choice("color", "Colour", appearance.color, [:]),
            Self.choice(
                "grouping", "Pictures together by", appearance.grouping,
                [.none: "nothing, one after the other"]),
        ]
        toggles = [
            Toggle("colorful", appearance.isColorful, "Colours", "Without them pages are grey."),
            Toggle("badges", appearance.showsBadges, "Tell where pictures are", "On each tile."),
            Toggle("whole", appearance.showsWhole, "Whole pictures on tiles", "In their own proportions."),
            Toggle(
                "preview", appearance.loadsPreview, "Load previews",
                "On the page of a picture, in the place of a small one."),
            Toggle(
                "original", appearance.loadsOriginal, "Load originals",
                "On the page of a picture. One that is on the storage alone is fetched for it."),
        ]
        tiles = appearance.tilesPerRow
        unreadable = appearance.unreadable.isEmpty ? nil : appearance.unreadable.joined(separator: ", ")
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable & Hashable>(
        _ name: String, _ label: String, _ value: Value, _ names: [Value: String]
    ) -> Choice {
        Choice(
            name: name, label: label, was: value.rawValue,
            options: Value.allCases.map { one in
                Option(value: one.rawValue, name: names[one] ?? one.rawValue, isChosen: one == value)
            })
    }
}
