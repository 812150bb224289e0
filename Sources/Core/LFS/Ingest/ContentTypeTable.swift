/// The media type for the extension of a name (IANA media types registry), for the kinds of files that apps attach.
enum ContentTypeTable {
    static func of(name: String?) -> String? {
        guard let name, let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        return byExtension[name[name.index(after: dot)...].lowercased()]
    }

    private static let byExtension: [String: String] = [
        "aac": "audio/aac", "aif": "audio/aiff", "aiff": "audio/aiff", "flac": "audio/flac", "m4a": "audio/mp4",
        "mid": "audio/midi", "mp3": "audio/mpeg", "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg",
        "wav": "audio/wav", "weba": "audio/webm",

        "avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "heic": "image/heic", "heif": "image/heif",
        "ico": "image/vnd.microsoft.icon", "jpeg": "image/jpeg", "jpg": "image/jpeg", "jxl": "image/jxl",
        "png": "image/png", "psd": "image/vnd.adobe.photoshop", "svg": "image/svg+xml", "tif": "image/tiff",
        "tiff": "image/tiff", "webp": "image/webp", "dng": "image/x-adobe-dng",

        "3gp": "video/3gpp", "avi": "video/x-msvideo", "m4v": "video/mp4", "mkv": "video/matroska",
        "mov": "video/quicktime", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg", "ogv": "video/ogg",
        "webm": "video/webm",

        "css": "text/css", "csv": "text/csv", "htm": "text/html", "html": "text/html", "ics": "text/calendar",
        "js": "text/javascript", "log": "text/plain", "md": "text/markdown", "txt": "text/plain", "vcf": "text/vcard",
        "xml": "application/xml",

        "7z": "application/x-7z-compressed", "bz2": "application/x-bzip2",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "gz": "application/gzip", "json": "application/json",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "pdf": "application/pdf", "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "sqlite": "application/vnd.sqlite3", "tar": "application/x-tar",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "zip": "application/zip",
        "zst": "application/zstd",

        "otf": "font/otf", "ttf": "font/ttf", "woff": "font/woff", "woff2": "font/woff2",
        "gltf": "model/gltf+json", "glb": "model/gltf-binary", "stl": "model/stl",
    ]
}
