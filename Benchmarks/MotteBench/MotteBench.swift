@main struct MotteBench { static func main() {} }
