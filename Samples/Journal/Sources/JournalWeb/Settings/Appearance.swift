import LFSSettings

/// The present appearance of pages.
///
/// A setting that cannot be read does not prevent a page: the default is used, and the page with the settings reports
/// it.
struct Appearance: Sendable {
    private(set) var theme = ThemeMode.system
    private(set) var color = PrimaryColor.blue
    private(set) var grouping = PictureGrouping.record
    private(set) var tilesPerRow = 4
    private(set) var isColorful = true
    private(set) var showsWhole = false
    private(set) var showsBadges = true
    private(set) var loadsPreview = true
    private(set) var loadsOriginal = false
    /// The names of the keys whose values cannot be read.
    private(set) var unreadable: [String] = []

    /// The numbers of tiles in a row that the style sheet supports.
    static let tiles = 2...8

    init(_ snapshot: SettingsSnapshot) {
        read(.themeMode, of: snapshot) { $0.theme = $1 }
        read(.primaryColor, of: snapshot) { $0.color = $1 }
        read(.groupPicturesBy, of: snapshot) { $0.grouping = $1 }
        read(.tilesPerRow, of: snapshot) { $0.tilesPerRow = min(max($1, Self.tiles.lowerBound), Self.tiles.upperBound) }
        read(.colorfulInterface, of: snapshot) { $0.isColorful = $1 }
        read(.dynamicLayout, of: snapshot) { $0.showsWhole = $1 }
        read(.storageIndicator, of: snapshot) { $0.showsBadges = $1 }
        read(.loadPreview, of: snapshot) { $0.loadsPreview = $1 }
        read(.loadOriginal, of: snapshot) { $0.loadsOriginal = $1 }
    }

    private mutating func read<Value>(
        _ key: StorageKey<Value>, of snapshot: SettingsSnapshot, _ set: (inout Appearance, Value) -> Void
    ) {
        do {
            set(&self, try snapshot.get(key))
        } catch {
            unreadable.append(key.name)
        }
    }

    /// The style sheet's classes for the settings: the content policy permits no styles in pages.
    var classes: String {
        var classes = ["theme-\(theme.rawValue)", "color-\(color.rawValue)", "tiles-\(tilesPerRow)"]
        if !isColorful { classes.append("plain") }
        if showsWhole { classes.append("whole") }
        if !showsBadges { classes.append("no-badges") }
        return classes.joined(separator: " ")
    }
}
