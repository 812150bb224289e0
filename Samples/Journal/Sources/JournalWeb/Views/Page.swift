/// What all pages have in common, around what is special to one.
struct Page: Sendable {
    struct Link: Sendable {
        let path: String
        let name: String
        let isCurrent: Bool
    }

    /// What the style sheet knows the settings by.
    let classes: String
    let template: String
    let title: String
    /// What the forms of the page carry.
    let token: String
    let links: [Link]
    /// Why the storage is of no use now.
    let outage: String
    /// Why other devices hear of nothing now.
    let sync: String
    /// Whether the page listens to what happens.
    let isLive: Bool
    /// Whether whoever sees it may see the other pages, too.
    let isIn: Bool
    let hasPassword: Bool
    let content: any Sendable

    static let all = [
        (path: "/", name: "Today"), (path: "/timeline", name: "Timeline"), (path: "/pictures", name: "Pictures"),
        (path: "/storage", name: "Storage"), (path: "/settings", name: "Settings"),
    ]
}
