import LFSSettings

/// The present appearance of pages.
///
/// A setting that cannot be read does not prevent a page: the default is used, and the page with the settings reports
/// it.
struct Appearance: Sendable {
    /// The numbers of tiles in a row that the style sheet supports.
    static let tiles = 2...8

    let grouping: PictureGrouping
    let loadsPreview: Bool
    let loadsOriginal: Bool
    /// The style sheet's classes for the settings: the content policy permits no styles in pages.
    let classes: String

    init(_ snapshot: SettingsSnapshot) {
        func value<Value>(_ key: StorageKey<Value>, default fallback: Value) -> Value {
            do {
                return try snapshot.get(key)
            } catch {
                return key.defaultValue ?? fallback
            }
        }
        grouping = value(.groupPicturesBy, default: .month)
        loadsPreview = value(.loadPreview, default: true)
        loadsOriginal = value(.loadOriginal, default: false)
        let tiles = min(max(value(.tilesPerRow, default: 4), Self.tiles.lowerBound), Self.tiles.upperBound)
        var classes = [
            "theme-\(value(.themeMode, default: .system).rawValue)",
            "color-\(value(.primaryColor, default: .blue).rawValue)", "tiles-\(tiles)",
        ]
        if !value(.colorfulInterface, default: true) { classes.append("plain") }
        if value(.dynamicLayout, default: false) { classes.append("whole") }
        if !value(.storageIndicator, default: true) { classes.append("no-badges") }
        self.classes = classes.joined(separator: " ")
    }
}
