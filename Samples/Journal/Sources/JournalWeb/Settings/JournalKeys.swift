public import LFSSettings

/// In which colours pages are.
public enum ThemeMode: String, Codable, CaseIterable, Sendable {
    /// As the browser asks for.
    case system
    case light, dark
}

/// The colour of links and of what is chosen.
public enum PrimaryColor: String, Codable, CaseIterable, Sendable {
    case blue, green, teal, red, violet, brown
}

/// What the pictures of the page Pictures stand together by.
public enum PictureGrouping: String, Codable, CaseIterable, Sendable {
    case record, day, month, none
}

extension StorageKey<ThemeMode> {
    /// In which colours pages are.
    public static var themeMode: Self { .init("view.themeMode", default: .system) }
}

extension StorageKey<PrimaryColor> {
    /// The colour of links and of what is chosen.
    public static var primaryColor: Self { .init("view.primaryColor", default: .blue) }
}

extension StorageKey<PictureGrouping> {
    /// What the pictures of the page Pictures stand together by.
    public static var groupPicturesBy: Self { .init("view.groupPicturesBy", default: .record) }
}

extension StorageKey<Int> {
    /// How many pictures stand beside each other where there is room, from 2 to 8.
    public static var tilesPerRow: Self { .init("view.tilesPerRow", default: 4) }
}

extension StorageKey<Bool> {
    /// Whether pages have colours, or greys alone.
    public static var colorfulInterface: Self { .init("view.colorfulInterface", default: true) }
    /// Whether tiles show the whole of a picture, and no square of it.
    public static var dynamicLayout: Self { .init("view.dynamicLayout", default: false) }
    /// Whether tiles tell where the picture is.
    public static var storageIndicator: Self { .init("view.storageIndicator", default: true) }
    /// Whether the page of a picture loads a preview of it.
    public static var loadPreview: Self { .init("view.loadPreview", default: true) }
    /// Whether the page of a picture loads the picture itself, which may have to come from the storage.
    public static var loadOriginal: Self { .init("view.loadOriginal", default: false) }
}
