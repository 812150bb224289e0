public import LFSSettings

/// The color scheme of pages.
public enum ThemeMode: String, Codable, CaseIterable, Sendable {
    /// The color scheme that the browser asks for.
    case system
    case light, dark
}

/// The color of links and of selected items.
public enum PrimaryColor: String, Codable, CaseIterable, Sendable {
    case blue, green, teal, red, violet, brown
}

/// The criterion by which the page Pictures groups pictures.
public enum PictureGrouping: String, Codable, CaseIterable, Sendable {
    case record, day, month, none
}

extension StorageKey<ThemeMode> {
    /// The color scheme of pages.
    public static var themeMode: Self { .init("view.themeMode", default: .system) }
}

extension StorageKey<PrimaryColor> {
    /// The color of links and of selected items.
    public static var primaryColor: Self { .init("view.primaryColor", default: .blue) }
}

extension StorageKey<PictureGrouping> {
    /// The criterion by which the page Pictures groups pictures.
    public static var groupPicturesBy: Self { .init("view.groupPicturesBy", default: .month) }
}

extension StorageKey<Int> {
    /// The number of pictures in a row if there is enough room, from 2 to 8.
    public static var tilesPerRow: Self { .init("view.tilesPerRow", default: 4) }
}

extension StorageKey<Bool> {
    /// Indicates that pages have colors instead of shades of gray.
    public static var colorfulInterface: Self { .init("view.colorfulInterface", default: true) }
    /// Indicates that tiles show the whole picture instead of a square section.
    public static var dynamicLayout: Self { .init("view.dynamicLayout", default: false) }
    /// Indicates that tiles show where the picture is stored.
    public static var storageIndicator: Self { .init("view.storageIndicator", default: true) }
    /// Indicates that the page of a picture loads a preview.
    public static var loadPreview: Self { .init("view.loadPreview", default: true) }
    /// Indicates that the page of a picture loads the original, which may have to be fetched from the storage.
    public static var loadOriginal: Self { .init("view.loadOriginal", default: false) }
}
